"""Made by `cargo xtask api` from the table of passes."""

from typing import Any, Callable, Dict, List, Mapping, Sequence

def table() -> Dict[str, Dict[str, Any]]: ...
def names() -> List[str]: ...
def document(row: Mapping[str, Any]) -> str: ...
def arguments(row: Mapping[str, Any]) -> str: ...
def call(pass_name: str, inputs: Sequence[Any], parameters: Mapping[str, Any]) -> Any: ...
def table_of(held: Any, **parameters: Any) -> Any: ...
def function(name: str, module: str = "headwater.passes") -> Callable[..., Any]: ...
def __dir__() -> List[str]: ...

from . import computing as computing
from . import vertices as vertices
from . import parallel as parallel
from . import edges as edges
from . import on_ranks as on_ranks
from . import over_ranks as over_ranks
from . import filter as filter
from . import sort as sort
from . import top as top
from . import derive as derive
from . import union as union
from . import intersection as intersection
from . import difference as difference
from . import complement as complement
from . import group as group
from . import classify as classify
from . import hotspot as hotspot
from . import imbalance as imbalance
from . import cluster_ranks as cluster_ranks
from . import scaling_models as scaling_models
from . import attribution as attribution
from . import counter_ratios as counter_ratios
from . import breakdown as breakdown
from . import flat_profile as flat_profile
from . import call_tree as call_tree
from . import communication_matrix as communication_matrix
from . import time_by_task as time_by_task
from . import call_sites as call_sites
from . import time_by_site as time_by_site
from . import sent_by_site as sent_by_site
from . import time_by_site_and_rank as time_by_site_and_rank
from . import sent_by_site_and_rank as sent_by_site_and_rank
from . import message_sizes as message_sizes
from . import causal as causal
from . import backtracking as backtracking
from . import contention as contention
from . import contended as contended
from . import unheld as unheld
from . import reach as reach
from . import depth_first as depth_first
from . import shortest_path as shortest_path
from . import longest_path as longest_path
from . import common_ancestor as common_ancestor
from . import components as components
from . import communities as communities
from . import match as match
from . import differential as differential
from . import edge_differential as edge_differential
from . import used_memory as used_memory
from . import used_events as used_events
from . import used_files as used_files
from . import used_file_time as used_file_time
from . import used_partners as used_partners
from . import used_energy as used_energy
from . import used_counters as used_counters
from . import used_vectors as used_vectors
from . import used_by_rank as used_by_rank
from . import not_recorded as not_recorded
from . import critical_path as critical_path
from . import wait_states as wait_states
from . import wait_states_by_call as wait_states_by_call
from . import efficiencies as efficiencies
from . import scales as scales
from . import non_scalable as non_scalable
from . import abnormal as abnormal
from . import thread_imbalance as thread_imbalance
from . import lock_contention as lock_contention
from . import allocator_contention as allocator_contention
from . import serial_region as serial_region
from . import small_regions as small_regions
from . import charge as charge
from . import uneven_work as uneven_work
from . import moving_work as moving_work
from . import non_shrinking_work as non_shrinking_work
from . import common_sleep as common_sleep
from . import growing_communication as growing_communication
from . import late_sender_chain as late_sender_chain
from . import preempted as preempted
from . import uneven_segments as uneven_segments
from . import to_workers as to_workers
from . import to_program as to_program
from . import placement as placement
from . import ranked as ranked
from . import ways_back as ways_back
from . import delays as delays
from . import causes as causes
from . import diagnosis as diagnosis
from . import largest as largest
from . import delay_cost as delay_cost
from . import delay_costs as delay_costs
from . import answer_table as answer_table
from . import cause_table as cause_table
from . import cause_paths as cause_paths
from . import mark_table as mark_table
