-- Match scores by the tables of the view match_equity. They look into a view, so they are made after it. A name that two
-- imports share means the first of them. No `if(...)`, as in macros/bearoff.sql. Columns are renamed inside, since a
-- caller's `away` would else be that of the view.

create macro mwc(met, away, opponent_away, is_post_crawford := false) as
    case when met is null or away is null or opponent_away is null or is_post_crawford is null then null
         when away <= 0 and opponent_away <= 0 then
              error('expected one winner of the match, got ' || away || '-away ' || opponent_away || '-away')
         when away <= 0 then 1::double
         when opponent_away <= 0 then 0::double
         else coalesce(
             (select arg_min(cell_mwc, cell_place)
              from (select cells.mwc as cell_mwc,
                           {'dataset': cells.dataset, 'variant': cells.variant} as cell_place,
                           cells.met as cell_met,
                           cells.away as cell_away,
                           cells.opponent_away as cell_opponent_away,
                           cells.is_post_crawford as cell_is_post_crawford
                    from match_equity as cells)
              where cell_met = met and cell_away = away and cell_opponent_away = opponent_away
                and cell_is_post_crawford = is_post_crawford),
             error('expected a score of a table in the view match_equity, got ' || met || ', ' || away || '-away '
                   || opponent_away || '-away' || case when is_post_crawford then ' post-crawford' else '' end)) end;
comment on macro mwc is
    'Chance of winning the match before a game, by a table of match_equity; 1-away is the Crawford game unless is_post_crawford';

create macro mwc_after(met, away, opponent_away, points) as
    mwc(met, away - greatest(points, 0), opponent_away - greatest(-points, 0), least(away, opponent_away) = 1);
comment on macro mwc_after is
    'Chance of winning the match once the player has won so many points (negative: lost) in a game at this score';

create macro take_point(met, away, opponent_away, cube_value := 1, win_gammon_share := 0, lose_gammon_share := 0) as
    list_transform(
        [{'dropped': mwc_after(met, away, opponent_away, -cube_value),
          'win': (1 - win_gammon_share) * mwc_after(met, away, opponent_away, 2 * cube_value)
                 + win_gammon_share * mwc_after(met, away, opponent_away, 4 * cube_value),
          'lose': (1 - lose_gammon_share) * mwc_after(met, away, opponent_away, -2 * cube_value)
                  + lose_gammon_share * mwc_after(met, away, opponent_away, -4 * cube_value)}],
        lambda game: (game.dropped - game.lose) / nullif(game.win - game.lose, 0))[1];
comment on macro take_point is
    'Winning chance from which to take when the opponent doubles from cube_value, if nobody redoubles; shares of wins and losses that are gammons';

create macro gammon_value(met, away, opponent_away, cube_value := 1) as
    (mwc_after(met, away, opponent_away, 2 * cube_value) - mwc_after(met, away, opponent_away, cube_value))
    / nullif(mwc_after(met, away, opponent_away, cube_value) - mwc_after(met, away, opponent_away, -cube_value), 0);
comment on macro gammon_value is
    'What a gammon wins more than a single game, in swings of the single game: 0.5 for money';
