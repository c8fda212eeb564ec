"""The selectors as scikit-learn citizens."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from conftest import BATCH_SELECTORS, SELECTORS
from protosieve import ParameterError, ProtoBasic, ProtoSwap
from protosieve.kernels import Gaussian, Laplacian, Linear, MultiScale
from protosieve.means import CalibratedMean, ExactMean
from protosieve.objectives import LeastSquares

# Checks of scikit-learn that a selector does not pass, each with the reason. There are none.
EXPECTED_FAILURES: dict[str, str] = {}


@pytest.mark.filterwarnings("ignore::protosieve.ProtosieveWarning")
@parametrize_with_checks(
    [cls() for cls in (*SELECTORS, *BATCH_SELECTORS)], expected_failed_checks=lambda estimator: EXPECTED_FAILURES
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.fixture(params=[*SELECTORS, *BATCH_SELECTORS], ids=lambda cls: cls.__name__)
def selector(request):
    """Each selector's class."""
    return request.param


def test_clone_copies_parameters_and_nothing_else(selector, X):
    fitted = selector(7, kernel=Gaussian(2.0), random_state=3).fit(X)
    twin = clone(fitted)
    assert twin.get_params() == fitted.get_params()
    assert not twin.__sklearn_is_fitted__()


def test_in_a_pipeline_similarities_are_features(selector, X):
    labels = (X[:, 0] > 0).astype(int)
    pipeline = make_pipeline(StandardScaler(), selector(20, random_state=0), KNeighborsClassifier(3))
    assert pipeline.fit(X, labels).score(X, labels) > 0.8


@pytest.mark.parametrize(("kernel", "metric"), [(Gaussian(0.05), "euclidean"), (Laplacian(0.02), "cityblock")])
def test_the_nearest_is_found_where_all_similarities_are_zero(kernel, metric):
    X = load_iris().data.astype(np.float32)
    fitted = ProtoBasic(10, kernel=kernel).fit(X)
    distances = cdist(X.astype(np.float64), fitted.prototypes_.astype(np.float64), metric)
    chosen = distances[np.arange(len(X)), fitted.predict(X)]
    np.testing.assert_allclose(chosen, distances.min(axis=1), rtol=1e-3, atol=1e-3)


def test_transform_is_the_kernel_and_predict_the_nearest(selector, X):
    fitted = selector(9, kernel=Gaussian(2.0)).fit(X)
    distances = ((X[:, None] - fitted.prototypes_[None]) ** 2).sum(-1)
    np.testing.assert_allclose(fitted.transform(X), np.exp(-distances / 8), rtol=1e-9)
    np.testing.assert_array_equal(fitted.predict(X), distances.argmin(axis=1))
    assert fitted.transform(X.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.thorough)])
def test_a_grid_search_tries_widths_of_the_kernel(jobs):
    X, kind = load_iris(return_X_y=True)

    def pipeline(kernel=None):
        return make_pipeline(ProtoBasic(10, kernel=kernel, random_state=0), KNeighborsClassifier(3))

    widths = [0.3, 1.0, 3.0]
    search = GridSearchCV(pipeline(), {"protobasic__kernel__width": widths}, cv=3, n_jobs=jobs).fit(X, kind)
    by_hand = [cross_val_score(pipeline(MultiScale(width)), X, kind, cv=3).mean() for width in widths]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], by_hand)
    assert search.best_estimator_[0].kernel == MultiScale(widths[int(np.argmax(by_hand))])


def test_without_a_kernel_there_are_three_widths_the_largest_the_median_distance(selector, X):
    found = selector(4, random_state=0).fit(X).kernel_
    assert (type(found), found.scales) == (MultiScale, 3)
    assert found.width == pytest.approx(np.median(pdist(X)))


def test_parameters_of_parameters_have_names(selector):
    found = selector(kernel=Laplacian(2.0), mean=CalibratedMean(500)).get_params()
    assert (found["kernel__width"], found["mean__sample"]) == (2.0, 500)
    assert not any("__" in name for name in selector(kernel=Laplacian(2.0)).get_params(deep=False))
    assert "kernel__width" not in selector().get_params()
    rows = np.ones((3, 2))
    assert not {"kernel__shift", "mean__target"} & set(
        selector(kernel=Gaussian(2.0, shift=rows[0]), mean=ExactMean(rows)).get_params()
    )


def test_a_width_that_is_set_is_that_of_a_new_kernel(selector):
    shared = Laplacian(1.0)
    one, other = selector(kernel=shared), selector(kernel=shared)
    assert one.set_params(kernel__width=2.0) is one
    assert (one.kernel, other.kernel, shared.width) == (Laplacian(2.0), shared, 1.0)
    assert clone(one).set_params(kernel__width=3.0).kernel == Laplacian(3.0)
    assert one.set_params(kernel=Gaussian(), kernel__width=4.0).kernel == Gaussian(4.0)
    assert selector().set_params(kernel__width=5.0).kernel == MultiScale(5.0)
    assert selector(mean=CalibratedMean()).set_params(mean__sample=50).mean == CalibratedMean(50)


def test_all_parameters_given_back_change_nothing(selector):
    made = selector(5, kernel=Laplacian(2.0), mean=CalibratedMean(500))
    assert clone(made).set_params(**made.get_params()).get_params() == made.get_params()
    assert selector(5).set_params(**selector(7).get_params()).get_params() == selector(7).get_params()


def test_an_objective_has_parameters_too():
    fitted = ProtoSwap(objective=LeastSquares([1.0, 2.0, 4.0])).set_params(objective__ridge=0.5)
    assert (fitted.objective.ridge, fitted.objective.y.tolist()) == (0.5, [1.0, 2.0, 4.0])


def test_kernels_of_scikit_learn_keep_their_own_parameters(selector):
    made = selector(kernel=RBF(1.0)).set_params(kernel__length_scale=2.0)
    assert made.get_params()["kernel__length_scale"] == made.kernel.length_scale == 2.0


@pytest.mark.parametrize(
    ("kernel", "name", "match"),
    [
        (Linear(), "kernel__width", r"kernel__width was given, and kernel is Linear\(\), which has no parameters"),
        (None, "kernel__size", r"kernel is MultiScale\(width='median', scales=3\), which has width, scales; set"),
        ("rbf", "kernel__width", "kernel must be a kernel of protosieve.kernels, .* got 'rbf'"),
        (np.dot, "kernel__width", "which has function; set kernel itself, or leave kernel__width out"),
        (None, "mean__sample", "mean__sample was given, and mean is None, which has no parameters; set mean itself"),
        (None, "n_prototypes__of", "n_prototypes is 4, which has no parameters"),
    ],
)
def test_parameters_that_are_not_there_say_so_and_nothing_is_set(selector, kernel, name, match):
    made = selector(4, kernel=kernel)
    with pytest.raises(ParameterError, match=match):
        made.set_params(**{"block_size": 7, name: 3})
    assert made.block_size == 512
    with pytest.raises(ValueError, match="Invalid parameter 'nothing'"):
        made.set_params(nothing__width=1.0)
    with pytest.raises(ParameterError, match="width must be a positive number"):
        selector().set_params(kernel__width=-1.0)


def test_a_width_set_while_a_stream_goes_on_is_noticed(X):
    fed = ProtoSwap(5, kernel=Gaussian(1.0)).partial_fit(X[:100])
    with pytest.raises(ParameterError, match=r"kernel was Gaussian\(width=1.0\) when the stream began"):
        fed.set_params(kernel__width=2.0).partial_fit(X[100:])
