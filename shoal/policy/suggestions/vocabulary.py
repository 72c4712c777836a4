"""Words in column names that indicate what a column is about."""

from __future__ import annotations

import re

from shoal.policy.suggestions.topics import CODEBOOKS, PLAIN, WEIGHTS, stem_in

_WORDS = re.compile(r"[^\W\d_]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


PEOPLE = _set(
    "patient person customer client user member employee student subject participant respondent citizen "
    "applicant insured policyholder donor voter tenant resident guest staff doctor physician"
)
HOUSEHOLDS = _set(
    "household households haushalt foyer hogar famiglia huishouden family familie address adresse"
)
THINGS = _set(
    "country city town state county region product company firm employer hospital school university "
    "department ward drug medication disease file table column model brand occupation job clinic practice school bank"
)

IDENTIFIERS = _set(
    "surname forename firstname lastname fullname givenname familyname maidenname nickname username "
    "login email mail phone telephone tel mobile cellphone fax ssn passport iban bic mrn imei uuid guid "
    "address street addr url website ip ipaddress mac fingerprint signature photo plate vin handle "
    "twitter facebook instagram licence license nino nhs dni curp cpf nachname vorname telefon strasse "
    "anschrift straße adresse hausnummer telefonnummer handy handynummer kontonummer patientenname kundenname "
    "versichertennummer versicherungsnummer sozialversicherungsnummer krankenversicherungsnummer patientennummer "
    "personalnummer personalausweis steuernummer pernr kvnr nom prenom prénom apellido apellidos nombre direccion "
    "dirección correo telefono teléfono téléphone courriel nome cognome indirizzo naam achternaam voornaam navn "
    "fornavn etternavn namn efternamn nazwisko imię jméno příjmení имя фамилия 姓名 氏名 이름 pesel bsn "
    "personnummer aadhaar nif"
)
"""Words that name a person directly, whatever the values look like."""
ADDRESSES = _set("addr address adresse anschrift direccion dirección indirizzo")
AREAS = _set(
    "state city town zip zipcode country county region province ville ort stadt ciudad pays land plz postcode"
)
"""Parts of an address that many people share."""
IDENTIFIER_PHRASES = (
    ("social", "security"),
    ("credit", "card"),
    ("card", "number"),
    ("account", "number"),
    ("record", "number"),
    ("insurance", "number"),
    ("bank", "account"),
    ("national", "id"),
    ("tax", "id"),
)

SENSITIVE = _set(
    "diagnosis diagnoses disease illness disorder condition icd symptom symptoms treatment therapy "
    "medication medicine drug drugs prescription salary income wage wages pay earnings earning revenue "
    "debt loan mortgage balance credit creditworthiness religion religious faith belief beliefs "
    "politics political party vote voting orientation sexual hiv aids genetic genotype mutation crime "
    "criminal conviction offence offense disability handicap grade gpa score depression mental "
    "psychiatric pregnant pregnancy abortion abuse addiction alcohol smoking smoker cancer tumor tumour "
    "biopsy verdict complaint satisfaction diagnose krankheit medikament medikamente gehalt einkommen "
    "enfermedad salaire maladie"
)
"""Words for what people do not want known about them."""

QUASI = _set(
    "age sex gender zip zipcode postcode postal postalcode plz birth birthdate birthday birthyear dob "
    "yob born race ethnicity ethnic ethnicgroup nationality country citizenship citizen native origin "
    "marital married relationship education educational schooling degree qualification occupation job "
    "profession employer employment workclass industry sector department city town village county state "
    "province region district municipality borough neighborhood neighbourhood place location latitude "
    "longitude lat lon lng language tongue height weight children household family housing rank title "
    "admission admitted discharge discharged visit arrival departure death died hospital ward school "
    "university car vehicle alter geschlecht geburtsdatum geburtstag geburtsjahr beruf ort wohnort edad sexo"
)
"""Words for what a neighbour, an employer or a public list may know about a person."""

AGES = _set("age ages alter edad")
"""Words for ages in years."""

CODES = _set("zip zipcode postcode postal postalcode plz code")
"""Words for codes whose characters go from coarse to fine."""


SURVEYS = _set("survey sample sampling final person household design")
SURVEY_WEIGHTS = _set(
    "fnlwgt pwgtp wgtp perwt hhwt pweight finalweight personweight sampleweight samplingweight surveyweight "
    "hochrechnungsfaktor"
)
"""Words that say that a column holds survey weights."""
NUMBERING = _set("no nr number nummer ref reference account")
"""Words at the end of names of numbers that are given to people, contracts or cases."""


def words_of(name: str) -> list[str]:
    """Split a column name into lower-case words, at punctuation, digits and capitals."""
    return [word.lower() for word in _WORDS.findall(_CAMEL.sub(" ", name))]


def letters_of(name: str) -> str:
    """Return the letters of a column name, in lower case."""
    return "".join(words_of(name))


def _has(words: list[str], known: frozenset[str]) -> str | None:
    """Return the first known word, or the first two neighbouring words that are known when joined."""
    joined = [a + b for a, b in zip(words, words[1:], strict=False)]  # noqa: RUF007
    return next((word for word in [*words, *joined] if word in known), None)


def role_by_name(name: str) -> tuple[str, str] | None:
    """Return the role that a column name suggests and the word that suggests it, or None."""
    words = words_of(name)
    pairs = list(zip(words, words[1:], strict=False))  # noqa: RUF007
    for pair in IDENTIFIER_PHRASES:
        if pair in pairs:
            return "identifier", " ".join(pair)
    word = _has(words, IDENTIFIERS)
    if word in ADDRESSES and AREAS.intersection(words):
        return "quasi", next(area for area in words if area in AREAS)
    if word is not None:
        return "identifier", word
    if ("name" in words or "names" in words) and not THINGS.intersection(words):
        return "identifier", "name"
    if PEOPLE.intersection(words) and {"id", "ids", "no", "nr", "number", "code", "key"}.intersection(words):
        return "identifier", " ".join(words)
    return _role_of_words(words)


def _role_of_words(words: list[str]) -> tuple[str, str] | None:
    """Return the role that words suggest which name nobody, and the word that suggests it."""
    letters = "".join(words)
    in_book = CODEBOOKS.get(letters)
    if in_book is not None and in_book != "key":
        return in_book, letters
    found = [("sensitive", _has(words, SENSITIVE))]
    if not THINGS.intersection(words):
        found.append(("sensitive", stem_in(words)))
    found.append(("quasi", _has(words, QUASI)))
    found += [
        (role, word) for word in words if (role := CODEBOOKS.get(word, "key")) != "key" and len(word) > 2
    ]
    found.append(("plain", _has(words, PLAIN)))
    return next(((role, word) for role, word in found if word is not None), None)


def is_code(name: str) -> bool:
    """Return whether a name stands for codes such as zip codes."""
    return _has(words_of(name), CODES) is not None


def is_key(name: str) -> bool:
    """Return whether a name stands for a key of rows or people, which counts only if there are many values."""
    return (
        bool(
            {"id", "ids", "identifier", "key", "index", "rownum", "serial", "uid", "pid"}.intersection(
                words_of(name)
            )
        )
        or CODEBOOKS.get(letters_of(name)) == "key"
    )


def is_survey_weight(name: str) -> bool:
    """Return whether a name says that a column holds survey weights; `weight` alone may be that of a body."""
    words = words_of(name)
    both = bool({"weight", "weights", "wt", "wgt"}.intersection(words) and SURVEYS.intersection(words))
    return both or _has(words, SURVEY_WEIGHTS) is not None or letters_of(name) in WEIGHTS


def says_survey_weights(name: str) -> bool:
    """Return whether a name means survey weights and nothing else, such as `PWGTP`."""
    return letters_of(name) in WEIGHTS


def names_people(name: str) -> bool:
    """Return whether a name is about people, such as `patient_id`."""
    words = words_of(name)
    return bool(PEOPLE.intersection(words)) or any("".join(words).startswith(word) for word in PEOPLE)


def is_household(name: str) -> bool:
    """Return whether a name is about a household or a family."""
    return bool(HOUSEHOLDS.intersection(words_of(name)))


def is_numbering(name: str) -> bool:
    """Return whether a name says that something is numbered, such as `loan_no`, which counts only if there are many
    values. `no_of_loans` is how many there are.
    """
    words = words_of(name)
    return is_key(name) or (bool(words) and words[-1] in NUMBERING)
