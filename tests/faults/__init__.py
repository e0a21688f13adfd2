"""Campaigns of faults: kills, crowds, corrupted files, attacks, damage and hostile warehouses, in any number.

    python -m tests.faults kills --count 125 --seed 7
    python -m tests.faults --all

Every case has its own random numbers, from campaign, seed and number, so that a failed case can be run again alone.
"""
