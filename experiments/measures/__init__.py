"""What is computed; see `experiments`. Arguments and results are plain values, so that a result can be remembered."""
