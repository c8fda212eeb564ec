"""The paper's numbers on the paper's data (run where PROTOSIEVE_DATA is set)."""

import pytest

from protosieve import ProtoBasic, ProtoStream, Streak
from protosieve.kernels import Gaussian

width_5 = Gaussian(width=5.0)


@pytest.fixture(scope="module")
def letters_stream(letters):
    return ProtoStream(500, kernel=width_5, epsilon=0.4).fit(letters).result_


def test_letters_protobasic(letters):
    assert 0.0394 <= ProtoBasic(500, kernel=width_5).fit(letters).objective_ <= 0.0400


def test_letters_protostream(letters_stream):
    assert 0.0467 <= letters_stream.objective <= 0.0469


@pytest.mark.thorough
def test_letters_streak(letters, letters_stream):
    assert Streak(500, kernel=width_5, epsilon=0.4).fit(letters).objective_ >= 0.995 * letters_stream.objective


@pytest.mark.thorough
def test_mnist_protobasic(mnist):
    assert 0.0585 <= ProtoBasic(750, kernel=width_5).fit(mnist).objective_ <= 0.0593


@pytest.fixture(scope="module")
def mnist_stream(mnist):
    return ProtoStream(750, kernel=width_5, epsilon=0.4).fit(mnist).result_


@pytest.mark.thorough
def test_mnist_protostream(mnist_stream):
    assert 0.0705 <= mnist_stream.objective <= 0.0708


@pytest.mark.thorough
def test_mnist_streak(mnist, mnist_stream):
    assert Streak(750, kernel=width_5, epsilon=0.4).fit(mnist).objective_ >= 0.995 * mnist_stream.objective
