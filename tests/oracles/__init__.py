"""Plain references. Each file of `shoal/kernels/` has one here with a twin of the same name for every kernel."""

from tests.oracles import (
    agglomerative as agglomerative,
)
from tests.oracles import (
    assignment as assignment,
)
from tests.oracles import (
    bucket_posterior as bucket_posterior,
)
from tests.oracles import (
    cheapest as cheapest,
)
from tests.oracles import (
    choosing as choosing,
)
from tests.oracles import (
    closed_sets as closed_sets,
)
from tests.oracles import (
    closeness as closeness,
)
from tests.oracles import (
    closest as closest,
)
from tests.oracles import (
    closures as closures,
)
from tests.oracles import (
    consistency as consistency,
)
from tests.oracles import (
    covering as covering,
)
from tests.oracles import (
    crowds as crowds,
)
from tests.oracles import (
    cuts as cuts,
)
from tests.oracles import (
    disclosure as disclosure,
)
from tests.oracles import (
    diversity as diversity,
)
from tests.oracles import (
    exchange as exchange,
)
from tests.oracles import (
    expansion as expansion,
)
from tests.oracles import (
    followed as followed,
)
from tests.oracles import (
    forest as forest,
)
from tests.oracles import (
    founding as founding,
)
from tests.oracles import (
    graph_structure as graph_structure,
)
from tests.oracles import (
    grouping as grouping,
)
from tests.oracles import (
    hilbert as hilbert,
)
from tests.oracles import (
    hybrid as hybrid,
)
from tests.oracles import (
    improve as improve,
)
from tests.oracles import (
    key_sets as key_sets,
)
from tests.oracles import (
    lattice as lattice,
)
from tests.oracles import (
    losses as losses,
)
from tests.oracles import (
    matching as matching,
)
from tests.oracles import (
    membership as membership,
)
from tests.oracles import (
    membership_waves as membership_waves,
)
from tests.oracles import (
    microaggregation as microaggregation,
)
from tests.oracles import (
    mondrian as mondrian,
)
from tests.oracles import (
    nearest as nearest,
)
from tests.oracles import (
    neighbours as neighbours,
)
from tests.oracles import (
    network_clusters as network_clusters,
)
from tests.oracles import (
    p_k as p_k,
)
from tests.oracles import (
    people as people,
)
from tests.oracles import (
    posterior as posterior,
)
from tests.oracles import (
    presence as presence,
)
from tests.oracles import (
    rebuilding as rebuilding,
)
from tests.oracles import (
    refining as refining,
)
from tests.oracles import (
    relocation as relocation,
)
from tests.oracles import (
    ring as ring,
)
from tests.oracles import (
    singling as singling,
)
from tests.oracles import (
    synthetic as synthetic,
)
