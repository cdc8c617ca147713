"""What an agent keeps when its memory goes: checkpoints, compactions and the kills that test them."""
