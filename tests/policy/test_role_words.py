"""Roles by names from codebooks and forms in four languages, and roles that depend on the other columns."""

from __future__ import annotations

import polars as pl
import pytest

from shoal.policy.suggestions import look_at
from shoal.policy.suggestions.vocabulary import role_by_name

EXPECTED = {
    "sensitive": (
        "Diabetes Alcoholism Hipertension Handcap Smoke Exer INJ_SEV POVPIP poverty_ratio HICOV health_insurance "
        "InsuranceCoverage DPHY HINS4 GENHLTH DIABETE3 EXERANY2 INDFMPIR Raucher Schwangerschaft Behinderung "
        "Versicherung Vermögen Krankenkasse revenu_mensuel grossesse tabagisme maladie dette ingresos embarazo "
        "discapacidad pobreza deuda logwage annual_inc loan_amnt alcoholfreq weakheart birthcontrol income_tax"
    ),
    "quasi": (
        "AGEP SCHL PUMA RAC1P RIDAGEYR LATITUDE LONGITUD lat lon Breitengrad Neighbourhood Familienstand Wohnort "
        "Bundesland sexe datenaissance Estado_civil Nacionalidad taille addr_state DEPARTMENT birth_cohort "
        "Machine_learning hospital_discharge"
    ),
    "plain": "outcome SMS_received censored price71 No-show questionnaire_version",
}


@pytest.mark.parametrize(
    ("role", "name"), [(role, name) for role, names in EXPECTED.items() for name in names.split()]
)
def test_a_name_says_what_a_column_is(role, name):
    found = role_by_name(name)
    # In doubt, a column is a quasi-identifier.
    assert (found[0] if found else "quasi") == role


def test_the_second_key_of_a_table_numbers_people():
    frame = pl.DataFrame(
        {
            "AppointmentID": [5_000_000 + 3 * row for row in range(60)],
            "PatientId": [700 + row % 25 for row in range(60)],
            "Age": [20 + row % 40 for row in range(60)],
        }
    )
    assert {one.name: one.role for one in look_at(frame).columns} == {
        "AppointmentID": "identifier",
        "PatientId": "person",
        "Age": "quasi",
    }
    # Without a key of the rows, or once per person, it is removed like any other key.
    alone = {one.name: one.role for one in look_at(frame.drop("AppointmentID")).columns}
    assert alone["PatientId"] == "identifier"
    once = frame.with_columns(PatientId=pl.int_range(700, 760))
    assert {one.name: one.role for one in look_at(once).columns}["PatientId"] == "identifier"


def test_a_yes_or_no_about_a_telephone_names_nobody():
    frame = pl.DataFrame(
        {
            "phone_service": ["yes", "no"] * 50,
            "phone": [f"0171{row:05}" for row in range(100)],
            "age": [40, 50] * 50,
        }
    )
    assert {one.name: one.role for one in look_at(frame).columns} == {
        "phone_service": "quasi",
        "phone": "identifier",
        "age": "quasi",
    }
