"""The notes world, the small chat model that lives in it, and what trains, exports and judges that model."""
