"""Inside the client: what its parser handed on, and what the application made of it."""
