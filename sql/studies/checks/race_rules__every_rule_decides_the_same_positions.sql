-- rules are compared on the same positions, of which those tested are a part
select r.* from race_rules r
join (
    select variant, weighting, part, mode(positions) as positions, mode(occurrences) as occurrences
    from race_rules group by all
) as common using (variant, weighting, part)
where r.positions <> common.positions or r.occurrences <> common.occurrences
   or r.occurrences < r.positions or (r.weighting = 'equal' and r.occurrences <> r.positions);
