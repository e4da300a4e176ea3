"""The verdict in words and pictures: findings, evidence, cells, sentences."""
