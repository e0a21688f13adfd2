select variant, arm, grouping
from contact_parts
group by variant, arm, grouping
having sum(tested) <> (select max(every.tested) from contact_parts every
                       where every.variant = contact_parts.variant and every.grouping = if(starts_with(contact_parts.grouping, 'reference'), 'reference', 'all'))
    or (grouping = 'part' and sum(learned) <> any_value((select every.learned from contact_parts every
                                                         where every.variant = contact_parts.variant and every.arm = contact_parts.arm
                                                           and every.grouping = 'all')));
