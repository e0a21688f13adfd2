select variant, arm, grouping
from contact_parts
where grouping not in ('all', 'part')
group by variant, arm, grouping
having list((group_name, tested) order by group_name)
    <> (select list((every.group_name, every.tested) order by every.group_name) from contact_parts every
        where every.variant = contact_parts.variant and every.arm = 'one' and every.grouping = contact_parts.grouping);
