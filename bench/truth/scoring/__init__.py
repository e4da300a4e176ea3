"""A verdict held against the truth, question by question; `bench/truth/score.py` asks them all."""
