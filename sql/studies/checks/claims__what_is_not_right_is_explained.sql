select variant, claim, status, is_erratum, correction, explanation
from claims
where ((status <> 'reproduced' or is_erratum) and explanation is null)
   or (status = 'corrected' and (correction is null or not is_erratum))
   or is_erratum is null;
