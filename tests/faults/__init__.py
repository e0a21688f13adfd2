"""Campaigns of faults: kills, crowds, corrupted files, attacks, damage and hostile warehouses, as many as one likes.

    python -m tests.faults kills --count 125 --seed 7
    python -m tests.faults --all

Every case has its own chance, from the campaign, the seed and the case's number: one that fails is run again alone.
"""
