"""The event rates of networks, NFS and Fibre Channel: table, then unit, then event and its meaning.

Each event is one column of the registry, named `<event>_per_s`.
"""

from __future__ import annotations

Events = dict[str, dict[str, str]]

_NETWORK_ERRORS: Events = {
    "events": {
        "rx_errors": "bad packets received",
        "tx_errors": "errors while sending",
        "collisions": "collisions while sending",
        "rx_drops": "packets dropped on receipt for lack of buffers",
        "tx_drops": "packets dropped before sending for lack of buffers",
        "tx_carrier_errors": "carrier errors while sending",
        "rx_frame_errors": "frame alignment errors on receipt",
        "rx_fifo_errors": "FIFO overruns on receipt",
        "tx_fifo_errors": "FIFO overruns while sending",
    }
}

_NFS_CLIENT: Events = {
    "calls": {
        "calls": "RPC requests made",
        "retransmits": "RPC requests sent again",
        "reads": "read calls",
        "writes": "write calls",
        "access_calls": "access calls",
        "getattr_calls": "getattr calls",
    }
}

_NFS_SERVER: Events = {
    "calls": {
        "calls": "RPC requests received",
        "bad_calls": "bad RPC requests received",
        "packets": "network packets received",
        "udp_packets": "UDP packets received",
        "tcp_packets": "TCP packets received",
        "cache_hits": "reply cache hits",
        "cache_misses": "reply cache misses",
        "reads": "read calls",
        "writes": "write calls",
        "access_calls": "access calls",
        "getattr_calls": "getattr calls",
    }
}

_IP: Events = {
    "datagrams": {
        "received": "datagrams received, bad ones included",
        "forwarded": "datagrams forwarded",
        "delivered": "datagrams delivered to protocols",
        "sent": "datagrams that protocols asked to send",
        "reassembly_requests": "fragments that needed reassembly",
        "reassembled": "datagrams reassembled",
        "rx_multicast": "multicast packets received (IPv6)",
        "tx_multicast": "multicast packets sent (IPv6)",
        "fragmented": "datagrams fragmented",
        "fragments_created": "fragments made",
    }
}

_IP_ERRORS: Events = {
    "datagrams": {
        "rx_header_errors": "discarded for errors in the header",
        "rx_address_errors": "discarded for an invalid address",
        "rx_unknown_protocols": "discarded for an unknown protocol",
        "rx_too_big": "not forwarded for exceeding the link's MTU (IPv6)",
        "rx_discards": "received and discarded without a fault in them",
        "tx_discards": "not sent for lack of resources",
        "rx_no_routes": "received and discarded for want of a route (IPv6)",
        "tx_no_routes": "not sent for want of a route",
        "reassembly_failures": "reassemblies that failed",
        "fragmentation_failures": "discarded because they could not be fragmented",
        "rx_truncated": "discarded as shorter than announced (IPv6)",
    }
}

_ICMP: Events = {
    "messages": {
        "received": "messages received",
        "sent": "messages sent",
        "rx_echos": "echo requests received",
        "rx_echo_replies": "echo replies received",
        "tx_echos": "echo requests sent",
        "tx_echo_replies": "echo replies sent",
        "rx_timestamps": "timestamp requests received",
        "rx_timestamp_replies": "timestamp replies received",
        "tx_timestamps": "timestamp requests sent",
        "tx_timestamp_replies": "timestamp replies sent",
        "rx_address_masks": "address mask requests received",
        "rx_address_mask_replies": "address mask replies received",
        "tx_address_masks": "address mask requests sent",
        "tx_address_mask_replies": "address mask replies sent",
        "rx_group_queries": "group membership queries received (IPv6)",
        "rx_group_responses": "group membership responses received (IPv6)",
        "tx_group_responses": "group membership responses sent (IPv6)",
        "rx_group_reductions": "group membership reductions received (IPv6)",
        "tx_group_reductions": "group membership reductions sent (IPv6)",
        "rx_router_solicits": "router solicitations received (IPv6)",
        "tx_router_solicits": "router solicitations sent (IPv6)",
        "rx_router_advertisements": "router advertisements received (IPv6)",
        "rx_neighbor_solicits": "neighbor solicitations received (IPv6)",
        "tx_neighbor_solicits": "neighbor solicitations sent (IPv6)",
        "rx_neighbor_advertisements": "neighbor advertisements received (IPv6)",
        "tx_neighbor_advertisements": "neighbor advertisements sent (IPv6)",
    }
}

_ICMP_ERRORS: Events = {
    "messages": {
        "rx_errors": "received with an ICMP error",
        "tx_errors": "not sent for an ICMP problem",
        "rx_unreachable": "destination unreachable received",
        "tx_unreachable": "destination unreachable sent",
        "rx_time_exceeded": "time exceeded received",
        "tx_time_exceeded": "time exceeded sent",
        "rx_parameter_problems": "parameter problem received",
        "tx_parameter_problems": "parameter problem sent",
        "rx_source_quenches": "source quench received",
        "tx_source_quenches": "source quench sent",
        "rx_redirects": "redirect received",
        "tx_redirects": "redirect sent",
        "rx_too_big": "packet too big received (IPv6)",
        "tx_too_big": "packet too big sent (IPv6)",
    }
}

_TCP: Events = {
    "connections": {"active_opens": "connections opened", "passive_opens": "connections accepted"},
    "segments": {"rx_segments": "segments received", "tx_segments": "segments sent"},
}

_TCP_ERRORS: Events = {
    "connections": {"failed_attempts": "attempts that failed", "resets": "connections reset"},
    "segments": {
        "retransmits": "segments sent again",
        "rx_errors": "segments received in error",
        "tx_resets": "segments sent with the RST flag",
    },
}

_UDP: Events = {
    "datagrams": {
        "received": "datagrams delivered to users",
        "sent": "datagrams sent",
        "no_port": "datagrams for which no application listened",
        "rx_errors": "datagrams not delivered for other reasons",
    }
}

_FIBRE_CHANNEL: Events = {
    "frames": {"rx_frames": "frames received", "tx_frames": "frames sent"},
    "words": {"rx_words": "transmission words received", "tx_words": "transmission words sent"},
}

NETWORK_EVENTS: dict[str, Events] = {
    "network_errors": _NETWORK_ERRORS,
    "nfs_client": _NFS_CLIENT,
    "nfs_server": _NFS_SERVER,
    "ip": _IP,
    "ip6": _IP,
    "ip_errors": _IP_ERRORS,
    "ip6_errors": _IP_ERRORS,
    "icmp": _ICMP,
    "icmp6": _ICMP,
    "icmp_errors": _ICMP_ERRORS,
    "icmp6_errors": _ICMP_ERRORS,
    "tcp": _TCP,
    "tcp_errors": _TCP_ERRORS,
    "udp": _UDP,
    "udp6": _UDP,
    "fibre_channel": _FIBRE_CHANNEL,
}
"""Events by table: unit, event, meaning. IPv4 and IPv6 tables share their columns."""
