-- What rescoring did to the labels of each corpus, class by class.
create view selfplay_labels_summary as
select variant, class,
       count(*) as positions,
       count(turns_later) as rescored,
       count(*) filter (where turns_later = 0) as covered,
       var_pop(outcome) as outcome_variance,
       var_pop(cubeless_equity) as label_variance,
       1 - label_variance / nullif(outcome_variance, 0) as removed_share,
       avg((cubeless_equity - outcome) ** 2) as mean_square_change,
       var_pop(hedged_equity) as hedged_variance
from selfplay_labels
group by variant, class
order by variant, class;
comment on view selfplay_labels_summary is 'How much of the variance of labels went with the luck after solved positions, class by class';
comment on column selfplay_labels_summary.variant is 'Player, games and seed, and the table that solves';
comment on column selfplay_labels_summary.class is 'Class of the positions';
comment on column selfplay_labels_summary.positions is 'Positions of the class';
comment on column selfplay_labels_summary.rescored is 'Those whose label is no longer the outcome: a table covers them, or what their game came to';
comment on column selfplay_labels_summary.covered is 'Those that a table covers themselves';
comment on column selfplay_labels_summary.outcome_variance is 'Variance of the outcomes [points squared]';
comment on column selfplay_labels_summary.label_variance is 'Variance of the labels [points squared]';
comment on column selfplay_labels_summary.removed_share is 'Share of the variance that rescoring removed';
comment on column selfplay_labels_summary.mean_square_change is 'Mean square of label less outcome: the noise that is gone [points squared]';
comment on column selfplay_labels_summary.hedged_variance is 'Variance of the labels less luck, null where luck was not measured [points squared]';
