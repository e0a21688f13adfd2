-- The chance of each sum.
create view dice_odds as
select variant, pip_count, share(rolls, sum(rolls) over (partition by variant)) as chance from dice_sums;
comment on view dice_odds is 'The chance of each sum of two dice';
comment on column dice_odds.variant is 'Sides of the dice';
comment on column dice_odds.pip_count is 'Sum of both dice [pips]';
comment on column dice_odds.chance is 'Its chance';
