"""What codebooks and forms call their columns, in English, German, French and Spanish."""

from __future__ import annotations


def _list(words: str) -> tuple[str, ...]:
    return tuple(words.split())


SENSITIVE_STEMS = _list(
    # health
    "diabet hypertens hiperten alcohol alkohol alcool smok cigar tobac tabak tabac tabag tabaq rauch fumeur fumad "
    "drink trink exercis handcap handicap disab behinder discapac invalid asthma asma bronch hepat tumor tumour "
    "cancer krebs cardio heart stroke infarct herz cholest glucos insulin creatin hemoglob haemoglob obes injur "
    "verletz bless lesion symptom diagn allerg epilep psych depress anxiet anxie angst nerves nervous mental "
    "suicid tubercul pregnan schwanger embaraz grossess gestat prematur prenatal lowbirth birthcontrol "
    "contracep verhüt verhut abort sexual drug droge drogue infect ulcer headache chronic covid vaccin impf "
    "health gesund sante santé salud medicat medicam medicaid medicare therap krank pflege illness disease "
    "syndrom surger chirurg operation comorbid charlson overdose addict substance allergies colitis polio fever "
    "cough weightloss wtloss nutrition dieta ernähr ernahr pulse bloodpressure chemo hospitaliz hospitalis "
    "bowel trouble otherpain sexrisk smk metasta biops patholog lympho leuk anemi anaemi cirrhos ascites dialys "
    "renal kidney transplant dementia stress insomn "
    # money
    "income einkommen einkomm ingres revenu salair salar sueldo gehalt lohn earning verdienst debt deuda "
    "schulden dette loan kredit mortgage hypothe asset vermög vermog saving poverty pobreza armut pauvret insur "
    "versicher assuran seguro coverage welfare sozialhilfe default arrears delinq bankrupt fico interestrate "
    "kontostand saldo scholarship subsid benefit pension rente jubil unemploymentbenefit charge expens "
    "hourlyrate dailyrate monthlyrate stockoption "
    # opinions, conduct and what others say of people
    "relig konfession glaub politic politik politiq ideolog gewerksch syndic sindic arrest crime crimin convict "
    "offens delito delit straf prison prisión gefängn victim violen viola attrition satisf zufried performance "
    "evaluat bewert churn dismiss fired complaint homeless obdach sinhogar sexwork trustin treat limitation "
    "drivin sleep physical workout lifestyle behavio emergency physicianvisit doctorvisit nvisits habit premie "
    "malign benign metabol kreatin blutdruck blutzucker tension presion presión glucemia grossesse cigarro "
    "cigarrillo sucht addicci dépress deny denied denial approv reject rechaz refus abgelehnt wage logwage "
    "hourlypay bonus tips spend ausgaben gasto depense dépense limitcredit creditlimit creditcard utiliz "
    "bonität bonitaet solven punktzahl opinion meinung ansicht trust vertrauen confian attitude einstellung "
    "glück gluck happi bonheur felic affair infidel harass bully discrim"
)  # fmt: skip
"""Beginnings of words for what people do not want known about them."""

PLAIN = frozenset(
    _list(
        "outcome received sent sms reminder censored censoring randomized randomised arm cohort wave round "
        "version batch campaign channel price prices tax taxes noshow show quarterly questionnaire instrument "
        "interviewer resultado résultat ergebnis zensiert erinnerung rappel recordatorio"
    )
)
"""Words for what nobody else can know and nobody needs to hide."""

CODEBOOKS: dict[str, str] = {
    # US census: American Community Survey
    **dict.fromkeys(
        _list(
            "agep sex rac racp raca hisp mar schl st puma cow esr occp indp naicsp socp jwtr jwtrns jwmnp cit "
            "nativity eng lanx lanp mil relp relshipp rel np noc npf ten mig migsp pobp anc ancp wkw wkhp yoep "
            "msp sch schg wkl vps housing tenure bld veh hht rmsp bdsp"
        ),
        "quasi",
    ),
    **dict.fromkeys(
        _list(
            "povpip pincp wagp hincp fincp retp ssp ssip intp semp oip pap pernp hicov privcov pubcov hins dis "
            "ddrs dear deye dout dphy drem dratx drat fs grpip ocpip pincpdecile povpipr fer"
        ),
        "sensitive",
    ),
    # Health surveys: NHANES, BRFSS, and what clinics write
    **dict.fromkeys(
        _list("ridageyr riagendr ridreth dmdeduc dmdmartl dmdborn dmdhhsiz ageg educa sexvar gndr edlevel"),
        "quasi",
    ),
    **dict.fromkeys(
        _list(
            "indhhin indfmpir genhlth physhlth menthlth exerany diabete smoke smoker smokes exer drnk income "
            "inj injsev drinking drugs alcres drugres sbp dbp bp hbp hr pulse ecg ekg wbc hgb ldl hdl cdf phq "
            "gad cesd pcs mcs hf tb comorb drg apache score scores result results visits adl bal inc util "
            "limit grade dnr doa ards los fio pain ill sick cd hba mmse edss asa bili albumin copper protime "
            "platelet dti revol inq delinq"
        ),
        "sensitive",
    ),
    **dict.fromkeys(
        _list(
            "seqn seqno caseid stcase serialno respid respnum sampid uniqueid recordid fallnummer laufnummer "
            "lfdnr"
        ),
        "key",
    ),
    # Names in other languages that no shorter word explains
    **dict.fromkeys(
        _list(
            "sexe genre âge lieu naissance datenaissance nacimiento fechanacimiento estadocivil civil "
            "familienstand famstand metier métier ciudad ville stadt gemeinde kreis bundesland pays país pais "
            "provincia departement département commune canton kanton codepostal codigopostal postleitzahl "
            "nationalität nationalitaet staatsangehörigkeit staatsangehoerigkeit nacionalidad nationalité "
            "nationalite bildung schulabschluss ausbildung educación educacion estudios diplôme diplome kinder "
            "kinderzahl enfants hijos größe groesse gewicht taille poids talla peso wohnort haushaltsgröße "
            "haushaltsgroesse ménage menage hogar género genero barrio municipio colonia straßenbezirk "
            "breitengrad längengrad laengengrad latitud longitud coordinates coord arbeitgeber empleo ocupación "
            "ocupacion wohnsitz herkunft muttersprache sprache langue idioma raza origen origine religionfrei "
            "kids child neighborhood region rural urban metro metropolitan immigrant veteran military "
            "experience seniority"
        ),
        "quasi",
    ),
}
"""Short names of codebooks, without their digits -> role."""

WEIGHTS = frozenset(
    _list(
        "pwgtp wgtp perwt hhwt fnlwgt pweight llcpwt finalwt wtmec wtint wtmecyr wtintyr wtssall wtss asecwt "
        "earnwt pondera gewicht_hochrechnung hochrechnungsfaktor hochrechnung gewichtungsfaktor ponderacion "
        "ponderación ponderation pondération factorexpansion facteurexpansion anweight pspwght dweight sampwt "
        "svyweight"
    )
)
"""Names of survey weights, without their digits."""

AT_THE_START = frozenset(
    _list(
        "earning wage tips tension refus charge rente saldo santé sante viola polio operation drogue droge trink "
        "allergies benefit"
    )
)
"""Stems that other words contain by chance, such as `discharge`, `current` or `cooperation`."""


def stem_in(words: list[str]) -> str | None:
    """Return the stem with which one of some words begins, or that their letters contain, if it is long enough."""
    letters = "".join(words)
    for stem in SENSITIVE_STEMS:
        inside = len(stem) >= 5 and stem not in AT_THE_START
        if any(word.startswith(stem) for word in words) or (inside and stem in letters):
            return stem
    return None
