"""The bench of truth over real loopback sockets: providers, gateways, a network and clients, each broken on purpose."""
