select variant, arm
from contact_parts
where grouping = 'theme'
group by variant, arm
having list((group_name, tested) order by group_name)
    <> (select list((every.group_name, every.tested) order by every.group_name) from contact_parts every
        where every.variant = contact_parts.variant and every.arm = 'one' and every.grouping = 'theme');
