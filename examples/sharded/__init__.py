"""The recommender with its table spread over processes."""
