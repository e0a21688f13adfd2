-- Rules of thumb side by side, on the half of the positions that no rule was searched on: mean losses of the three
-- decisions, and their sum, for pairs of layouts as they are and as they come up in play.
create view race_rule_losses as
select variant, rule,
       max(mean_loss_per_cube) filter (weighting = 'equal' and cube_decision = 'double') as double_loss,
       max(mean_loss_per_cube) filter (weighting = 'equal' and cube_decision = 'redouble') as redouble_loss,
       max(mean_loss_per_cube) filter (weighting = 'equal' and cube_decision = 'take') as take_loss,
       double_loss + redouble_loss + take_loss as total_loss,
       max(mean_loss_per_cube) filter (weighting = 'played' and cube_decision = 'double') as played_double_loss,
       max(mean_loss_per_cube) filter (weighting = 'played' and cube_decision = 'redouble') as played_redouble_loss,
       max(mean_loss_per_cube) filter (weighting = 'played' and cube_decision = 'take') as played_take_loss,
       played_double_loss + played_redouble_loss + played_take_loss as played_total_loss,
       max(mean_loss_per_cube) filter (weighting = 'longer' and cube_decision = 'double') as longer_double_loss,
       max(mean_loss_per_cube) filter (weighting = 'longer' and cube_decision = 'redouble') as longer_redouble_loss,
       max(mean_loss_per_cube) filter (weighting = 'longer' and cube_decision = 'take') as longer_take_loss,
       longer_double_loss + longer_redouble_loss + longer_take_loss as longer_total_loss,
       any_value(source) as source
from race_rules
where part = 'tested'
group by variant, rule
order by variant, played_total_loss, rule;
comment on view race_rule_losses is 'Rules of thumb for the cube in races: mean losses on the half of positions that the search has not seen, least in play first';
comment on column race_rule_losses.variant is 'Size of the table, and corpus';
comment on column race_rule_losses.rule is 'Name of the rule';
comment on column race_rule_losses.double_loss is 'Mean loss of doubling a centered cube, or not, over all pairs of layouts [points per unit cube]';
comment on column race_rule_losses.redouble_loss is 'Mean loss of redoubling, or not, over all pairs of layouts [points per unit cube]';
comment on column race_rule_losses.take_loss is 'Mean loss of taking or passing, over all pairs of layouts [points per unit cube]';
comment on column race_rule_losses.total_loss is 'Sum of the three, over all pairs of layouts [points per unit cube]';
comment on column race_rule_losses.played_double_loss is 'Mean loss of doubling a centered cube, or not, each pair as often as in the corpus [points per unit cube]';
comment on column race_rule_losses.played_redouble_loss is 'Mean loss of redoubling, or not, each pair as often as in the corpus [points per unit cube]';
comment on column race_rule_losses.played_take_loss is 'Mean loss of taking or passing, each pair as often as in the corpus [points per unit cube]';
comment on column race_rule_losses.played_total_loss is 'Sum of the three, each pair as often as in the corpus [points per unit cube]';
comment on column race_rule_losses.longer_double_loss is 'Mean loss of doubling a centered cube, or not, the same where both sides have 5 checkers or more [points per unit cube]';
comment on column race_rule_losses.longer_redouble_loss is 'Mean loss of redoubling, or not, the same where both sides have 5 checkers or more [points per unit cube]';
comment on column race_rule_losses.longer_take_loss is 'Mean loss of taking or passing, the same where both sides have 5 checkers or more [points per unit cube]';
comment on column race_rule_losses.longer_total_loss is 'Sum of the three, the same where both sides have 5 checkers or more [points per unit cube]';
comment on column race_rule_losses.source is 'Where the rule was published, or how it counts';
