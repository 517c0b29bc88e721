"""The words of sar's network sections (`sar -n`) and of its serial lines, as `sections` reads them."""

from __future__ import annotations

NETWORK_SECTIONS = {
    "network": """
        IFACE:interface rxpck/s=rx_packets_per_s txpck/s=tx_packets_per_s rxkB/s=rx_kb_per_s
        txkB/s=tx_kb_per_s rxcmp/s=rx_compressed_per_s txcmp/s=tx_compressed_per_s
        rxmcst/s=rx_multicast_per_s %ifutil=util_pct rxbyt/s=rx_kb_per_s*byte txbyt/s=tx_kb_per_s*byte
    """,
    "network errors": """
        IFACE:interface rxerr/s=rx_errors_per_s txerr/s=tx_errors_per_s coll/s=collisions_per_s
        rxdrop/s=rx_drops_per_s txdrop/s=tx_drops_per_s txcarr/s=tx_carrier_errors_per_s
        rxfram/s=rx_frame_errors_per_s rxfifo/s=rx_fifo_errors_per_s txfifo/s=tx_fifo_errors_per_s
    """,
    "nfs client": """
        call/s=calls_per_s retrans/s=retransmits_per_s read/s=reads_per_s write/s=writes_per_s
        access/s=access_calls_per_s getatt/s=getattr_calls_per_s
    """,
    "nfs server": """
        scall/s=calls_per_s badcall/s=bad_calls_per_s packet/s=packets_per_s udp/s=udp_packets_per_s
        tcp/s=tcp_packets_per_s hit/s=cache_hits_per_s miss/s=cache_misses_per_s sread/s=reads_per_s
        swrite/s=writes_per_s saccess/s=access_calls_per_s sgetatt/s=getattr_calls_per_s
    """,
    # the most that were ever in use (hi-), which 3.3.2 printed, are not kept
    "sockets": """
        totsck=total_sockets tcpsck=tcp_sockets udpsck=udp_sockets rawsck=raw_sockets ip-frag=ip_fragments
        tcp-tw=tcp_time_wait_sockets hi-tcpsck= hi-udpsck= hi-rawsck=
    """,
    "sockets6": "tcp6sck=tcp_sockets udp6sck=udp_sockets raw6sck=raw_sockets ip6-frag=ip_fragments",
    "fibre channel": """
        FCHOST:fc_host fch_rxf/s=rx_frames_per_s fch_txf/s=tx_frames_per_s fch_rxw/s=rx_words_per_s
        fch_txw/s=tx_words_per_s
    """,
    "softnet": """
        CPU:cpu total/s=processed_per_s dropd/s=dropped_per_s squeezd/s=squeezed_per_s
        rx_rps/s=rps_wakeups_per_s flw_lim/s=flow_limited_per_s blg_len=backlog
    """,
    # txmtin/s is how the text of 11.5.1 to 12.4.1 spells xmtin/s
    "serial": """
        TTY:tty rcvin/s=rx_interrupts_per_s xmtin/s=tx_interrupts_per_s txmtin/s=tx_interrupts_per_s
        framerr/s=frame_errors_per_s prtyerr/s=parity_errors_per_s brk/s=breaks_per_s ovrun/s=overruns_per_s
    """,
    "ip": """
        irec/s=received_per_s fwddgm/s=forwarded_per_s idel/s=delivered_per_s orq/s=sent_per_s
        asmrq/s=reassembly_requests_per_s asmok/s=reassembled_per_s fragok/s=fragmented_per_s
        fragcrt/s=fragments_created_per_s
    """,
    "ip errors": """
        ihdrerr/s=rx_header_errors_per_s iadrerr/s=rx_address_errors_per_s
        iukwnpr/s=rx_unknown_protocols_per_s idisc/s=rx_discards_per_s odisc/s=tx_discards_per_s
        onort/s=tx_no_routes_per_s asmf/s=reassembly_failures_per_s fragf/s=fragmentation_failures_per_s
    """,
    "icmp": """
        imsg/s=received_per_s omsg/s=sent_per_s iech/s=rx_echos_per_s iechr/s=rx_echo_replies_per_s
        oech/s=tx_echos_per_s oechr/s=tx_echo_replies_per_s itm/s=rx_timestamps_per_s
        itmr/s=rx_timestamp_replies_per_s otm/s=tx_timestamps_per_s otmr/s=tx_timestamp_replies_per_s
        iadrmk/s=rx_address_masks_per_s iadrmkr/s=rx_address_mask_replies_per_s
        oadrmk/s=tx_address_masks_per_s oadrmkr/s=tx_address_mask_replies_per_s
    """,
    "icmp errors": """
        ierr/s=rx_errors_per_s oerr/s=tx_errors_per_s idstunr/s=rx_unreachable_per_s
        odstunr/s=tx_unreachable_per_s itmex/s=rx_time_exceeded_per_s otmex/s=tx_time_exceeded_per_s
        iparmpb/s=rx_parameter_problems_per_s oparmpb/s=tx_parameter_problems_per_s
        isrcq/s=rx_source_quenches_per_s osrcq/s=tx_source_quenches_per_s iredir/s=rx_redirects_per_s
        oredir/s=tx_redirects_per_s
    """,
    "tcp": """
        active/s=active_opens_per_s passive/s=passive_opens_per_s iseg/s=rx_segments_per_s
        oseg/s=tx_segments_per_s
    """,
    # retrans/s became retrseg/s with 12.7.6
    "tcp errors": """
        atmptf/s=failed_attempts_per_s estres/s=resets_per_s retrans/s=retransmits_per_s
        retrseg/s=retransmits_per_s isegerr/s=rx_errors_per_s orsts/s=tx_resets_per_s
    """,
    "udp": "idgm/s=received_per_s odgm/s=sent_per_s noport/s=no_port_per_s idgmerr/s=rx_errors_per_s",
    "ip6": """
        irec6/s=received_per_s fwddgm6/s=forwarded_per_s idel6/s=delivered_per_s orq6/s=sent_per_s
        asmrq6/s=reassembly_requests_per_s asmok6/s=reassembled_per_s imcpck6/s=rx_multicast_per_s
        omcpck6/s=tx_multicast_per_s fragok6/s=fragmented_per_s fragcr6/s=fragments_created_per_s
    """,
    "ip6 errors": """
        ihdrer6/s=rx_header_errors_per_s iadrer6/s=rx_address_errors_per_s
        iukwnp6/s=rx_unknown_protocols_per_s i2big6/s=rx_too_big_per_s idisc6/s=rx_discards_per_s
        odisc6/s=tx_discards_per_s inort6/s=rx_no_routes_per_s onort6/s=tx_no_routes_per_s
        asmf6/s=reassembly_failures_per_s fragf6/s=fragmentation_failures_per_s itrpck6/s=rx_truncated_per_s
    """,
    "icmp6": """
        imsg6/s=received_per_s omsg6/s=sent_per_s iech6/s=rx_echos_per_s iechr6/s=rx_echo_replies_per_s
        oechr6/s=tx_echo_replies_per_s igmbq6/s=rx_group_queries_per_s igmbr6/s=rx_group_responses_per_s
        ogmbr6/s=tx_group_responses_per_s igmbrd6/s=rx_group_reductions_per_s
        ogmbrd6/s=tx_group_reductions_per_s irtsol6/s=rx_router_solicits_per_s
        ortsol6/s=tx_router_solicits_per_s irtad6/s=rx_router_advertisements_per_s
        inbsol6/s=rx_neighbor_solicits_per_s onbsol6/s=tx_neighbor_solicits_per_s
        inbad6/s=rx_neighbor_advertisements_per_s onbad6/s=tx_neighbor_advertisements_per_s
    """,
    "icmp6 errors": """
        ierr6/s=rx_errors_per_s idtunr6/s=rx_unreachable_per_s odtunr6/s=tx_unreachable_per_s
        itmex6/s=rx_time_exceeded_per_s otmex6/s=tx_time_exceeded_per_s
        iprmpb6/s=rx_parameter_problems_per_s oprmpb6/s=tx_parameter_problems_per_s
        iredir6/s=rx_redirects_per_s oredir6/s=tx_redirects_per_s ipck2b6/s=rx_too_big_per_s
        opck2b6/s=tx_too_big_per_s
    """,
    "udp6": "idgm6/s=received_per_s odgm6/s=sent_per_s noport6/s=no_port_per_s idgmer6/s=rx_errors_per_s",
}
