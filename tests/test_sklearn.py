"""The selectors as scikit-learn citizens."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from conftest import BATCH_SELECTORS, SELECTORS
from protosieve import ProtoBasic
from protosieve.kernels import Gaussian, Laplacian

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
