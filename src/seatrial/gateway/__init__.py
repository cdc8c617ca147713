"""The one door between agent and world: policy, meter, execute, record."""
