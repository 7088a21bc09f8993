//! What each key of a machine file does to a microbenchmark, with the arithmetic.
//!
//! Cycles are those of an iteration, or of several where a period is longer. test-tiny: four wide; L1 of 2 ways, hits of 2
//! (a load feeds its user 3 cycles after its issue), from L2 11, from L3 25, from an open row 52, from a closed one 62,
//! from another one 74. A misprediction costs 9 cycles from the branch to its right path where the branch waits for
//! nothing but the comparison before it; `core.squash_width` is high where it would hide that.

/// A change and what it moves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// The key.
    pub(super) key: &'static str,
    /// Its other value.
    pub(super) value: &'static str,
    /// What differs from the machine of the test before and after.
    pub(super) base: &'static [(&'static str, &'static str)],
    /// The microbenchmark.
    pub(super) benchmark: &'static str,
    /// Cycles that so many iterations take with the value of the machine or of `base`.
    pub(super) before: (u64, u64),
    /// With the other value.
    pub(super) after: (u64, u64),
}

const fn row(
    key: &'static str,
    value: &'static str,
    base: &'static [(&'static str, &'static str)],
    benchmark: &'static str,
    before: (u64, u64),
    after: (u64, u64),
) -> Row {
    Row {
        key,
        value,
        base,
        benchmark,
        before,
        after,
    }
}

const ONE_UNIT: &str = "1x IntAlu:1 | 1x IntMult:10 IntDiv:8! | 1x FloatAdd:3 FloatCmp:3 FloatCvt:3 FloatMult:5 FloatDiv:10! FloatSqrt:20! FloatMisc:2 | 2x SimdAdd:1 SimdAlu:1 SimdCmp:1 SimdCvt:2 SimdMisc:1 SimdMult:4 SimdShift:1 SimdFloatAdd:3 SimdFloatAlu:3 SimdFloatCmp:3 SimdFloatCvt:3 SimdFloatDiv:10 SimdFloatMult:4 SimdFloatSqrt:15 | 2x MemRead:1 FloatMemRead:1 | 1x MemWrite:1 FloatMemWrite:1";

/// On `test-tiny`.
pub(super) const OUT_OF_ORDER: &[Row] = &[
    // the 42 ns of a row conflict are 84 cycles instead of 42
    row(
        "core.frequency_hz",
        "2000000000",
        &[],
        "load_banks",
        (74, 1),
        (116, 1),
    ),
    // 16 micro-ops fill 4 cycles; the branch of bytes 15 and 16 now needs a second request in the fourth, and its
    // micro-ops come a cycle later
    row(
        "core.fetch_buffer_bytes",
        "16",
        &[],
        "nops_12",
        (4, 1),
        (5, 1),
    ),
    // a micro-op enters the cycle after the one before has left: 20 micro-ops, one a cycle
    row(
        "core.fetch_queue_entries",
        "1",
        &[],
        "nops",
        (5, 1),
        (20, 1),
    ),
    // 16 NOPs, 1 of DEC, 3 of JNZ: 20 micro-ops by 4, then by 2
    row("core.fetch_width", "2", &[], "nops", (5, 1), (10, 1)),
    // 16 NOPs, 1 of DEC, 3 of JNZ: 20 micro-ops by 4, then by 2
    row("core.decode_width", "2", &[], "nops", (5, 1), (10, 1)),
    // 16 NOPs, 1 of DEC, 3 of JNZ: 20 micro-ops by 4, then by 2
    row("core.dispatch_width", "2", &[], "nops", (5, 1), (10, 1)),
    // 16 NOPs, 1 of DEC, 3 of JNZ: 20 micro-ops by 4, then by 2
    row("core.issue_width", "2", &[], "nops", (5, 1), (10, 1)),
    // 16 NOPs, 1 of DEC, 3 of JNZ: 20 micro-ops by 4, then by 2
    row("core.commit_width", "2", &[], "nops", (5, 1), (10, 1)),
    // NOP, DEC and JNZ come 5 micro-ops before LEA: it is renamed 5 cycles behind the first instead of 2, plus 1
    // as decode waits for the blocked stage: +4; its load dispatches 5 cycles later than LEA, one after the store
    // has issued instead of before: +1
    row(
        "core.rename_width",
        "1",
        &[("core.squash_width", "64")],
        "stray_return",
        (15, 1),
        (20, 1),
    ),
    // 28 of the wrong path have come into the window (32 less 4 that have not left): 28 cycles to clear it instead
    // of 28 / 4
    row(
        "core.squash_width",
        "1",
        &[],
        "late_return",
        (42, 1),
        (63, 1),
    ),
    // each iteration passes all stages once, from fetch to the branch and back
    row(
        "core.fetch_to_decode_cycles",
        "2",
        &[("core.squash_width", "64")],
        "stray_return",
        (15, 1),
        (16, 1),
    ),
    // each iteration passes all stages once, from fetch to the branch and back
    row(
        "core.decode_to_rename_cycles",
        "2",
        &[("core.squash_width", "64")],
        "stray_return",
        (15, 1),
        (16, 1),
    ),
    // each iteration passes all stages once, from fetch to the branch and back
    row(
        "core.rename_to_dispatch_cycles",
        "2",
        &[("core.squash_width", "64")],
        "stray_return",
        (15, 1),
        (16, 1),
    ),
    // each iteration passes all stages once, from fetch to the branch and back
    row(
        "core.execute_to_commit_cycles",
        "2",
        &[("core.squash_width", "64")],
        "stray_return",
        (15, 1),
        (16, 1),
    ),
    // 5 more, once an iteration
    row(
        "core.trap_cycles",
        "15",
        &[],
        "system_call",
        (23, 1),
        (28, 1),
    ),
    // the 32 micro-ops of an iteration fill the window, so a multiplication waits for the one before: 10 of its
    // own, 1 to commit, 1 for its stage, 1 to be heard by rename, 1 to dispatch; with two in the window they are
    // bound by the product register: 10
    row("core.rob_entries", "64", &[], "window", (14, 1), (10, 1)),
    // a NOP enters at rename, issues a cycle later, and the next enters the cycle after that: 20 times 2
    row("core.scheduler_entries", "1", &[], "nops", (5, 1), (40, 1)),
    // each of four loads is renamed after the one before has committed: rename to issue 1, to execution 1, L1 2,
    // to commit 2, to rename 1: 7 instead of the 3 from issue to issue
    row(
        "core.load_queue_entries",
        "1",
        &[],
        "load_l1",
        (12, 1),
        (28, 1),
    ),
    // each of eight stores is renamed after the one before is in the cache: rename to issue 1, to execution 1, to
    // commit 2, to the cache 2, L1 2, to rename 1: 9 instead of the 2 of L1
    row(
        "core.store_queue_entries",
        "1",
        &[],
        "stores",
        (16, 1),
        (72, 1),
    ),
    // DEC and JNZ write 3, the first five moves the rest; a register is free 6 cycles after its rename, so the
    // sixth move comes at 6 instead of 3, and LEA behind it, which waits for the registers of the moves renamed at
    // 2, at 8 instead of 4
    row(
        "core.spare_integer_registers",
        "8",
        &[("core.squash_width", "64")],
        "moves_return",
        (17, 1),
        (21, 1),
    ),
    // the last of twelve halves waits for the register of the first, renamed at 2 and free at 8; LEA comes with it
    // instead of at 5
    row(
        "core.spare_float_registers",
        "11",
        &[("core.squash_width", "64")],
        "vectors_return",
        (18, 1),
        (21, 1),
    ),
    // each comparison writes two groups: the first three and DEC take all; the fourth comes at 6, the next three
    // at 8, the last at 12; decode goes on a cycle after it has left, so LEA is renamed at 14 instead of 4
    row(
        "core.spare_flag_registers",
        "8",
        &[("core.squash_width", "64")],
        "compares_return",
        (17, 1),
        (27, 1),
    ),
    // with one set every load waits for the latest store of late address: multiplication 10, its move 1, store 1,
    // load 1, L1 2
    row("core.store_sets", "1", &[], "innocent", (10, 1), (15, 1)),
    // what was learnt is forgotten before the load comes again. From the issue of a multiplication: store executes
    // at 12; the load is fetched again at 15; its loop branch ends at 16; the next multiplication is fetched at
    // 17, renamed at 19, its immediate issues at 20, it at 21
    row(
        "core.store_set_period",
        "1",
        &[],
        "late_store",
        (10, 1),
        (21, 1),
    ),
    // eight stores of 2 cycles one after the other; then one a cycle through the one unit
    row(
        "core.store_order",
        "relaxed",
        &[
            ("core.store_queue_entries", "64"),
            ("core.rob_entries", "128"),
        ],
        "stores",
        (16, 1),
        (8, 1),
    ),
    // 20 micro-ops on one unit instead of four
    row("core.units", ONE_UNIT, &[], "nops", (5, 1), (20, 1)),
    // 33 lines of code: 9 each from L2 (tags 1, crossbar 1, L2 5, crossbar 1, response 1), 14 more for the five
    // that share a set of four in L2, 1 as the last line takes two cycles of fetch; then 1 each, and 1
    row(
        "l1i.size_bytes",
        "4096",
        &[
            ("predictor.target_buffer_entries", "1024"),
            ("core.squash_width", "64"),
        ],
        "lines",
        (368, 1),
        (34, 1),
    ),
    // four lines of one set: 9 each from L2, and 1 for the last; then 1 each
    row(
        "l1i.ways",
        "4",
        &[
            ("predictor.target_buffer_entries", "1024"),
            ("core.squash_width", "64"),
        ],
        "lines_of_set",
        (37, 1),
        (5, 1),
    ),
    // 33 misses
    row(
        "l1i.tag_cycles",
        "2",
        &[
            ("predictor.target_buffer_entries", "1024"),
            ("core.squash_width", "64"),
        ],
        "lines",
        (368, 1),
        (401, 1),
    ),
    // two requests an iteration, each answered after 3 instead of 1
    row(
        "l1i.data_cycles",
        "3",
        &[("core.fetch_buffer_bytes", "16")],
        "nops_12",
        (5, 1),
        (9, 1),
    ),
    // 33 misses
    row(
        "l1i.response_cycles",
        "2",
        &[
            ("predictor.target_buffer_entries", "1024"),
            ("core.squash_width", "64"),
        ],
        "lines",
        (368, 1),
        (401, 1),
    ),
    // the line fetched ahead comes a cycle after the jump has been fetched: the next line waits for it, but for
    // the one behind the line that takes two cycles of fetch
    row(
        "l1i.mshrs",
        "1",
        &[
            ("l1i.prefetcher", "next-line"),
            ("predictor.target_buffer_entries", "1024"),
            ("core.squash_width", "64"),
        ],
        "lines_of_set",
        (37, 1),
        (40, 1),
    ),
    // lines of one set in the order C 0 C 1 C 2 C 0 C 3 C 4 C E: C (the calls) and one other are kept by LRU, one
    // fewer by the tree: 7 misses instead of 6, of 8 beyond a hit
    row(
        "l1i.replacement",
        "tree-plru",
        &[
            ("l1i.ways", "4"),
            ("predictor.return_stack_entries", "16"),
            ("predictor.target_buffer_entries", "1024"),
            ("core.squash_width", "64"),
        ],
        "code_again",
        (69, 1),
        (77, 1),
    ),
    // every second line is on its way when it is asked for: 3 instead of 9, 16 times
    row(
        "l1i.prefetcher",
        "next-line",
        &[
            ("predictor.target_buffer_entries", "1024"),
            ("core.squash_width", "64"),
        ],
        "lines",
        (368, 1),
        (272, 1),
    ),
    // four lines of one set of two: 11 each from L2; with twice the sets they fit: 3 each
    row("l1d.size_bytes", "1024", &[], "load_l2", (44, 1), (12, 1)),
    // four lines fit a set of four
    row("l1d.ways", "4", &[], "load_l2", (44, 1), (12, 1)),
    // a hit takes the longer of tags and data: 1 more, four times
    row("l1d.tag_cycles", "3", &[], "load_l1", (12, 1), (16, 1)),
    // a hit takes the longer of tags and data: 1 more, four times
    row("l1d.data_cycles", "3", &[], "load_l1", (12, 1), (16, 1)),
    // 1 more, four times
    row("l1d.response_cycles", "2", &[], "load_l2", (44, 1), (48, 1)),
    // five loads at once take 61 (path 31, DRAM 30), the fifth activate comes 24 late, 2 until the next loads ask;
    // one after the other: 62 to the next, four times, then 61 + 2
    row(
        "l1d.mshrs",
        "1",
        &[
            ("dram.row_accesses", "1"),
            ("l1d.mshrs", "8"),
            ("l2.mshrs", "8"),
            ("l3.mshrs", "8"),
        ],
        "five_banks",
        (87, 1),
        (311, 1),
    ),
    // the third word of a line waits until the line is there, then 2 to come again and 2 for the hit, instead of 1
    // for the response, 1 behind the first word, 1 as the second answer of its cycle: 1 more, three times
    row("l1d.targets", "2", &[], "join", (42, 1), (45, 1)),
    // a line takes 64 + 1 cycles of the crossbar, down and up: 65 a store; with one buffer the cache takes no
    // store until the displaced line has left, and has the next line 23 later (tags 2, crossbar 1, L2 5, crossbar
    // 1, L3 10, crossbar 1, response 2, crossbar 1): 88
    row(
        "l1d.write_buffers",
        "1",
        &[("crossbar.width_bytes", "1")],
        "dirty_l2",
        (520, 1),
        (704, 1),
    ),
    // lines 0 1 2 0 3 4 in four ways: LRU misses 4, the tree 2, of 11 instead of 3
    row(
        "l1d.replacement",
        "tree-plru",
        &[("l1d.ways", "4"), ("l1d.size_bytes", "1024")],
        "again_l1",
        (50, 1),
        (34, 1),
    ),
    // sixteen lines: the first misses (11), the second comes just with the line (6), then two lines take 13: a
    // line asked for when the one before it is used arrives 10 later, answers 2 after that, and its user asks 1
    // later
    row(
        "l1d.prefetcher",
        "next-line",
        &[],
        "sequence",
        (11, 1),
        (108, 16),
    ),
    // eight lines of one set of four: 25 each from L3; with twice the sets they fit: 11 each
    row("l2.size_bytes", "4096", &[], "load_l3", (200, 1), (88, 1)),
    // eight lines fit a set of eight
    row("l2.ways", "8", &[], "load_l3", (200, 1), (88, 1)),
    // 1 more, four times
    row("l2.tag_cycles", "6", &[], "load_l2", (44, 1), (48, 1)),
    // a hit takes the longer of tags and data: 1 more, four times
    row("l2.data_cycles", "6", &[], "load_l2", (44, 1), (48, 1)),
    // 3 more, eight times
    row(
        "l2.response_cycles",
        "5",
        &[],
        "load_l3",
        (200, 1),
        (224, 1),
    ),
    // L2 takes a load when it has the line of the one before, 55 after it took that (crossbar 1, tags 5, crossbar
    // 1, L3 10, 2 + 30 + 2 of memory, response 3, crossbar 1): 4 x 55 + 61 + 2
    row(
        "l2.mshrs",
        "1",
        &[
            ("dram.row_accesses", "1"),
            ("l1d.mshrs", "8"),
            ("l2.mshrs", "8"),
            ("l3.mshrs", "8"),
        ],
        "five_banks",
        (87, 1),
        (283, 1),
    ),
    // 24 a store from L3; with one buffer L2 takes the next line 17 after the written one of L1 has displaced one,
    // which is 3 after the arrival in L2, and has it 18 later: 38
    row(
        "l2.write_buffers",
        "1",
        &[("crossbar.width_bytes", "4")],
        "dirty_l2",
        (192, 1),
        (304, 1),
    ),
    // L1 has none of them; L2 misses 4 of 6 (25 each, 11 else), by the tree 2
    row(
        "l2.replacement",
        "tree-plru",
        &[],
        "again_l2",
        (122, 1),
        (94, 1),
    ),
    // five lines from L3 (25 each) and five hits (3 each); L2 never sees the hits, forgets their line after four
    // others, and takes it from L1: 25 instead of 3 with every fourth line, 22 x 5 / 4 more
    row(
        "l2.inclusion",
        "inclusive",
        &[],
        "kept_above",
        (140, 1),
        (335, 2),
    ),
    // 64 lines: the first from L3 (25), the second from L2 (11); from then on a line asked for when the one before
    // is used arrives in L2 18 later and in use 5 after that: two lines in 23. 25 + 11 + 31 x 23
    row(
        "l2.prefetcher",
        "next-line",
        &[],
        "sequence_l3",
        (25, 1),
        (749, 64),
    ),
    // memory without L3 takes 37 (52 less tags 10, response 3 and a crossbar of 1 + 1), and 8 lines of 4 rows
    // close each row every 8 iterations: 8 x 37 + 4 x 10 / 8
    row("l3.size_bytes", "0", &[], "load_l3", (200, 1), (301, 1)),
    // five lines of a set of four: 52 each from memory and a row opened every 16 times, 5 x 52 + 50 / 16; in a set
    // of eight 25 each
    row("l3.ways", "8", &[], "ring_5", (2105, 8), (125, 1)),
    // 1 more, eight times
    row("l3.tag_cycles", "11", &[], "load_l3", (200, 1), (208, 1)),
    // a hit takes the longer of tags and data: 1 more, eight times
    row("l3.data_cycles", "11", &[], "load_l3", (200, 1), (208, 1)),
    // 15 loads of open rows (1 + 31 + 20) and one that opens a row (10 more) in 16; 2 more each
    row(
        "l3.response_cycles",
        "5",
        &[],
        "load_rows",
        (842, 16),
        (874, 16),
    ),
    // L3 takes a load 45 after the one before (crossbar 1, tags 10, 2 + 30 + 2 of memory): 4 x 45 + 61 + 2
    row(
        "l3.mshrs",
        "1",
        &[
            ("dram.row_accesses", "1"),
            ("l1d.mshrs", "8"),
            ("l2.mshrs", "8"),
            ("l3.mshrs", "8"),
        ],
        "five_banks",
        (87, 1),
        (243, 1),
    ),
    // a line takes 64 + 1 cycles of the crossbar: 65 a store; with one buffer L3 takes the next line 65 after the
    // written one of L1 has come (7 after the line), and has it 35 later (1 + 10, 20, 2 + 2): 107
    row(
        "l3.write_buffers",
        "1",
        &[
            ("dram.row_accesses", "1048576"),
            ("memory_crossbar.width_bytes", "1"),
            ("dram.write_low", "16"),
        ],
        "dirty_l3",
        (520, 1),
        (856, 1),
    ),
    // L3 misses 4 of 6 (52 each, 25 else), by the tree 2
    row(
        "l3.replacement",
        "tree-plru",
        &[
            ("dram.row_accesses", "1048576"),
            ("l2.ways", "1"),
            ("l2.size_bytes", "512"),
        ],
        "again_l3",
        (258, 1),
        (204, 1),
    ),
    // a line that leaves L3 for L2 is not kept, and L2 gives up unwritten lines without a word: 8 x 52 from
    // memory, and 4 x 10 / 8 to open rows
    row(
        "l3.inclusion",
        "mostly-exclusive",
        &[],
        "load_l3",
        (200, 1),
        (421, 1),
    ),
    // eight pages of one set of four: each load walks 4 levels, hits of 2
    row(
        "tlb.kind",
        "walk",
        &[("l1d.size_bytes", "8192"), ("l1d.ways", "8")],
        "pages",
        (24, 1),
        (88, 1),
    ),
    // two pages in turn: 2 walks of 4 x 2
    row(
        "tlb.instruction_entries",
        "1",
        &[
            ("tlb.kind", "walk"),
            ("l1d.size_bytes", "8192"),
            ("l1d.ways", "8"),
            ("tlb.ways", "1"),
        ],
        "code_pages",
        (3, 1),
        (19, 1),
    ),
    // with 32 sets the pages, 16 apart, lie in two: four each, which fit
    row(
        "tlb.data_entries",
        "128",
        &[
            ("tlb.kind", "walk"),
            ("l1d.size_bytes", "8192"),
            ("l1d.ways", "8"),
        ],
        "pages",
        (88, 1),
        (24, 1),
    ),
    // eight pages fit a set of eight
    row(
        "tlb.ways",
        "8",
        &[
            ("tlb.kind", "walk"),
            ("l1d.size_bytes", "8192"),
            ("l1d.ways", "8"),
        ],
        "pages",
        (88, 1),
        (24, 1),
    ),
    // one read of 2 fewer, eight times
    row(
        "tlb.levels",
        "3",
        &[
            ("tlb.kind", "walk"),
            ("l1d.size_bytes", "8192"),
            ("l1d.ways", "8"),
        ],
        "pages",
        (88, 1),
        (72, 1),
    ),
    // 1 more, four times
    row(
        "crossbar.request_cycles",
        "2",
        &[],
        "load_l2",
        (44, 1),
        (48, 1),
    ),
    // 1 more, four times
    row(
        "crossbar.response_cycles",
        "2",
        &[],
        "load_l2",
        (44, 1),
        (48, 1),
    ),
    // a store waits 24 for L3; a line takes 64 + 1 cycles: 65
    row(
        "crossbar.width_bytes",
        "1",
        &[],
        "dirty_l2",
        (192, 1),
        (520, 1),
    ),
    // 1 more each
    row(
        "memory_crossbar.request_cycles",
        "3",
        &[],
        "load_rows",
        (842, 16),
        (858, 16),
    ),
    // 1 more each
    row(
        "memory_crossbar.response_cycles",
        "3",
        &[],
        "load_rows",
        (842, 16),
        (858, 16),
    ),
    // a store waits 51 for memory; a line takes 64 + 1 cycles: 65
    row(
        "memory_crossbar.width_bytes",
        "1",
        &[("dram.row_accesses", "1048576"), ("dram.write_low", "16")],
        "dirty_l3",
        (408, 1),
        (520, 1),
    ),
    // the eight lines lie in one row: 52 instead of 74, and the row is opened every 16 accesses
    row(
        "dram.row_bytes",
        "1048576",
        &[],
        "load_banks",
        (74, 1),
        (842, 16),
    ),
    // a row is opened twice in 16 loads instead of once
    row(
        "dram.row_accesses",
        "8",
        &[],
        "load_rows",
        (842, 16),
        (852, 16),
    ),
    // 1 more each
    row(
        "dram.burst_ps",
        "5000",
        &[],
        "load_rows",
        (842, 16),
        (858, 16),
    ),
    // 1 more each
    row(
        "dram.column_ps",
        "12000",
        &[],
        "load_rows",
        (842, 16),
        (858, 16),
    ),
    // 1 more each
    row(
        "dram.controller_ps",
        "6000",
        &[],
        "load_rows",
        (842, 16),
        (858, 16),
    ),
    // 16 more, once in 16
    row(
        "dram.row_to_column_ps",
        "26000",
        &[],
        "load_rows",
        (842, 16),
        (858, 16),
    ),
    // 1 more each
    row(
        "dram.precharge_ps",
        "13000",
        &[],
        "load_banks",
        (74, 1),
        (75, 1),
    ),
    // from activate to activate 100 + 12 of precharge
    row(
        "dram.row_active_ps",
        "100000",
        &[],
        "load_banks",
        (74, 1),
        (112, 1),
    ),
    // 51 for the first line, the second 6 later, 2 until the next loads ask; a row is opened (10) once in 8
    // iterations; then 16 later
    row(
        "dram.same_group_ps",
        "16000",
        &[],
        "two_lines",
        (482, 8),
        (562, 8),
    ),
    // 61 for the first, 5 from activate to activate, 2 until the next loads ask; then 15
    row(
        "dram.activate_ps",
        "15000",
        &[("dram.row_accesses", "1")],
        "two_groups",
        (68, 1),
        (78, 1),
    ),
    // 61 for the first, 7 from activate to activate, 2 until the next loads ask; then 17
    row(
        "dram.activate_same_group_ps",
        "17000",
        &[("dram.row_accesses", "1")],
        "two_banks",
        (70, 1),
        (80, 1),
    ),
    // 61 for the first, 24 until the fifth may be activated, 2; then 50
    row(
        "dram.activate_window_ps",
        "50000",
        &[
            ("dram.row_accesses", "1"),
            ("l1d.mshrs", "8"),
            ("l2.mshrs", "8"),
            ("l3.mshrs", "8"),
        ],
        "five_banks",
        (87, 1),
        (113, 1),
    ),
    // from activate to activate 10 to the column command, 100, 12 of precharge
    row(
        "dram.read_to_precharge_ps",
        "100000",
        &[],
        "load_banks",
        (74, 1),
        (122, 1),
    ),
    // a pair of stores: 2 x 73, and a batch of two writes that begins 11 before the next read would open its row:
    // 22 + 15 + 13 each and 22 for the read are 122 instead of 42: 226. Two recoveries a pair, four pairs
    row(
        "dram.write_recovery_ps",
        "33000",
        &[("dram.row_accesses", "1048576"), ("dram.write_low", "1")],
        "dirty_rows",
        (904, 1),
        (1064, 1),
    ),
    // a read waits for the second of two writes: 4 of the first, 11 + 4 + 7; it would come 27 after L3 has the
    // line before, the writes begin 7 after that: 6 a pair; then 20 more a pair, four pairs
    row(
        "dram.write_to_read_ps",
        "27000",
        &[("dram.row_accesses", "1048576"), ("dram.write_low", "1")],
        "dirty_l3",
        (432, 1),
        (512, 1),
    ),
    // a batch begins 31 after the column command of the latest read (11 + 4 + 5, 2 + 2, then 7 up to L1); with 4 +
    // 42 it begins 15 later: four batches
    row(
        "dram.read_to_write_ps",
        "42000",
        &[("dram.row_accesses", "1048576"), ("dram.write_low", "1")],
        "dirty_l3",
        (432, 1),
        (492, 1),
    ),
    // 61 for the first, 4 of its burst, 3 to switch, 2 until the next loads ask; then 13
    row(
        "dram.rank_switch_ps",
        "13000",
        &[("dram.row_accesses", "1")],
        "two_ranks",
        (70, 1),
        (80, 1),
    ),
    // the first load of an interval opens its row at 100 and comes back after 62, the others after 74: 162 + 74 x
    // 10 = 902 is the last before 950, 12 in all; with 250: 312 + 74 x 8 = 904, 10 in all
    row(
        "dram.refresh_ps",
        "250000",
        &[("dram.refresh_interval_ps", "950000")],
        "load_banks",
        (950, 12),
        (950, 10),
    ),
    // 162 + 74 x 22 = 1790 is the last before 1850: 24 in all
    row(
        "dram.refresh_interval_ps",
        "1850000",
        &[("dram.refresh_interval_ps", "950000")],
        "load_banks",
        (950, 12),
        (1850, 24),
    ),
    // 8 x 73 as eight lines never fill the queue; with two waiting behind a read both are written: one of the row
    // just read, 15 after its command, recovers until 43, then the row of the next read: 22 to its command, 22 to
    // that read: 87 after the first instead of 73, four times
    row(
        "dram.write_high",
        "1",
        &[("dram.row_accesses", "1048576")],
        "dirty_rows",
        (584, 1),
        (640, 1),
    ),
    // 8 x 51 as eight lines never reach the low mark; a batch of two holds the next read for 6, four times
    row(
        "dram.write_low",
        "1",
        &[("dram.row_accesses", "1048576")],
        "dirty_l3",
        (408, 1),
        (432, 1),
    ),
    // wrong every second time, when it is taken: 9 from the branch to its right path, less the cycle that a taken
    // branch costs: 8
    row(
        "predictor.kind",
        "bimodal",
        &[("core.squash_width", "64")],
        "alternate",
        (7, 2),
        (15, 2),
    ),
    // the latest directions tell: none is wrong
    row(
        "predictor.kind",
        "gshare",
        &[("core.squash_width", "64"), ("predictor.kind", "bimodal")],
        "alternate",
        (15, 2),
        (7, 2),
    ),
    // twelve directions are beyond six bits of history, not beyond 34: 9 a round saved
    row(
        "predictor.kind",
        "tage",
        &[("core.squash_width", "64")],
        "one_in_12",
        (56, 12),
        (47, 12),
    ),
    // sixty rounds are beyond 34 directions; counted they are not: 8 saved
    row(
        "predictor.kind",
        "ltage",
        &[("core.squash_width", "64"), ("predictor.kind", "tage")],
        "inner_loop",
        (70, 1),
        (62, 1),
    ),
    // one counter for all branches says taken: wrong when this one is not, 9 every second time
    row(
        "predictor.local_entries",
        "1",
        &[
            ("core.squash_width", "64"),
            ("predictor.global_entries", "1"),
        ],
        "alternate",
        (7, 2),
        (8, 1),
    ),
    // the latest two directions of all branches are both taken before this branch falls through and before the
    // loop goes on: wrong once in two iterations, 9
    row(
        "predictor.local_histories",
        "1",
        &[
            ("core.squash_width", "64"),
            ("predictor.global_entries", "1"),
            ("predictor.local_entries", "4"),
            ("predictor.choice_entries", "1"),
        ],
        "alternate",
        (7, 2),
        (8, 1),
    ),
    // as with one counter of own histories: 9 every second time
    row(
        "predictor.global_entries",
        "1",
        &[
            ("core.squash_width", "64"),
            ("predictor.local_entries", "1"),
        ],
        "alternate",
        (7, 2),
        (8, 1),
    ),
    // both sides fail, on different directions; with one counter the choice cannot be by history: 9 every second
    // time
    row(
        "predictor.choice_entries",
        "1",
        &[
            ("core.squash_width", "64"),
            ("predictor.global_entries", "1"),
            ("predictor.local_entries", "4"),
            ("predictor.local_histories", "1"),
        ],
        "alternate",
        (7, 2),
        (8, 1),
    ),
    // two branches of one entry: each counts as not taken, 8 each
    row(
        "predictor.target_buffer_entries",
        "64",
        &[("core.squash_width", "64")],
        "two_branches",
        (21, 1),
        (5, 1),
    ),
    // one bit tells them not apart: the other's target is followed, and seen to be wrong at decode: 3 instead of
    // 8, twice
    row(
        "predictor.target_buffer_tag_bits",
        "1",
        &[("core.squash_width", "64")],
        "two_branches",
        (21, 1),
        (11, 1),
    ),
    // two of three returns are wrong, 10 each
    row(
        "predictor.return_stack_entries",
        "1",
        &[("core.squash_width", "64")],
        "calls",
        (15, 1),
        (35, 1),
    ),
    // the latest target is never the next one: 10
    row(
        "predictor.indirect_sets",
        "1",
        &[("core.squash_width", "64")],
        "targets_ab",
        (7, 1),
        (17, 1),
    ),
    // two jumps displace each other: 9 each
    row(
        "predictor.indirect_ways",
        "1",
        &[
            ("core.squash_width", "64"),
            ("predictor.indirect_sets", "1"),
        ],
        "two_indirect",
        (5, 1),
        (23, 1),
    ),
    // two jumps 61 bytes apart share an entry: 9 each
    row(
        "predictor.indirect_tag_bits",
        "4",
        &[
            ("core.squash_width", "64"),
            ("predictor.indirect_sets", "1"),
        ],
        "two_indirect",
        (5, 1),
        (23, 1),
    ),
    // behind A comes A as often as B, and the directions do not tell: always wrong, 10
    row(
        "predictor.indirect_path",
        "1",
        &[
            ("core.squash_width", "64"),
            ("predictor.indirect_history_bits", "1"),
        ],
        "targets_aabb",
        (7, 1),
        (17, 1),
    ),
    // the direction that tells is the second before the jump: always wrong. The branch that costs 7 more of the 10
    // hides 3 behind the wait for its own
    row(
        "predictor.indirect_history_bits",
        "1",
        &[
            ("core.squash_width", "64"),
            ("predictor.indirect_path", "1"),
        ],
        "targets_behind",
        (12, 1),
        (19, 1),
    ),
    // twelve directions are beyond four: 9 a round
    row(
        "predictor.history_max",
        "4",
        &[("core.squash_width", "64"), ("predictor.kind", "tage")],
        "one_in_12",
        (47, 12),
        (56, 12),
    ),
    // one counter for all branches says taken: wrong when this one is not, 9 instead of 8
    row(
        "predictor.counter_entries",
        "1",
        &[("core.squash_width", "64"), ("predictor.kind", "bimodal")],
        "alternate",
        (15, 2),
        (8, 1),
    ),
    // the latest direction is always that of the loop: as without history
    row(
        "predictor.history_bits",
        "1",
        &[("core.squash_width", "64"), ("predictor.kind", "gshare")],
        "alternate",
        (7, 2),
        (15, 2),
    ),
    // gem5 shows no SSE4.2; sixteen more dependent additions
    row(
        "guest.profile",
        "x86-64-v2",
        &[],
        "profile",
        (16, 1),
        (32, 1),
    ),
];

/// On `test-tiny-in-order`: lines of 16 bytes, a miss costs 10 from L2 and 100 from memory, a misprediction 7.
pub(super) const IN_ORDER: &[Row] = &[
    // 5 micro-ops more than the divide of 20 (XOR, 2 MOV, DEC, JNZ)
    row(
        "core.integer_divide_cycles",
        "23",
        &[],
        "div_indep",
        (25, 1),
        (28, 1),
    ),
    // 5 micro-ops more than the divide of 40
    row(
        "core.integer_divide_64_cycles",
        "43",
        &[],
        "div_64",
        (45, 1),
        (48, 1),
    ),
    // 2 micro-ops more than the divide of 10
    row(
        "core.float_divide_cycles",
        "13",
        &[],
        "float_divide",
        (12, 1),
        (15, 1),
    ),
    // 2 micro-ops more than the root of 15
    row(
        "core.float_sqrt_cycles",
        "18",
        &[],
        "float_sqrt",
        (17, 1),
        (20, 1),
    ),
    // 2 micro-ops more than the sine of 100
    row(
        "core.transcendental_cycles",
        "103",
        &[],
        "sine",
        (102, 1),
        (105, 1),
    ),
    // 7 micro-ops and one misprediction of 7; then of 10
    row(
        "core.misprediction_cycles",
        "10",
        &[],
        "stray_return",
        (14, 1),
        (17, 1),
    ),
    // 36 micro-ops, and 106 bytes of code, cycled through a cache of 64: 7 lines of 10; then 4
    row("caches.line_bytes", "32", &[], "profile", (106, 1), (76, 1)),
    // 7 lines fit
    row("l1i.size_bytes", "128", &[], "profile", (106, 1), (36, 1)),
    // 6 micro-ops and four lines of one set of two: 10 each; a set of four holds them
    row("l1i.ways", "4", &[], "lines_of_set", (46, 1), (6, 1)),
    // a miss costs what L2 takes beyond a hit: 9 instead of 10, 7 times
    row("l1i.latency_cycles", "2", &[], "profile", (106, 1), (99, 1)),
    // 6 micro-ops and four lines of one set of two: 10 each; then they fit
    row("l1d.size_bytes", "1024", &[], "load_l2", (46, 1), (6, 1)),
    // a set of four holds them
    row("l1d.ways", "4", &[], "load_l2", (46, 1), (6, 1)),
    // 9 instead of 10, four times
    row("l1d.latency_cycles", "2", &[], "load_l2", (46, 1), (42, 1)),
    // 10 micro-ops, eight lines from memory (100 each) and three of code (10 each) that L1I has not, of which two
    // come from memory as data pushes them out
    row("l2.size_bytes", "4096", &[], "load_l3", (1020, 1), (120, 1)),
    // sixteen ways hold them
    row("l2.ways", "16", &[], "load_l3", (1020, 1), (120, 1)),
    // 1 more, four times
    row("l2.latency_cycles", "12", &[], "load_l2", (46, 1), (50, 1)),
    // 1 more for each line from memory
    row(
        "memory.latency_cycles",
        "102",
        &[],
        "load_l3",
        (1020, 1),
        (1030, 1),
    ),
    // one counter for a branch that is not taken and the loop that is: it follows one late, and is wrong on the
    // loop each time
    row(
        "predictor.counter_entries",
        "1",
        &[("predictor.history_bits", "0")],
        "profile",
        (106, 1),
        (113, 1),
    ),
    // 5.5 micro-ops; wrong every second time: 7 / 2
    row(
        "predictor.history_bits",
        "0",
        &[],
        "alternate",
        (11, 2),
        (9, 1),
    ),
    // two jumps displace each other: 7 each
    row(
        "predictor.target_entries",
        "1",
        &[],
        "two_indirect",
        (8, 1),
        (22, 1),
    ),
    // the path tells the next target: 7 saved
    row(
        "predictor.target_history_bits",
        "2",
        &[],
        "targets_ab",
        (23, 1),
        (16, 1),
    ),
    // of two in the stack, one is lost: 7
    row(
        "predictor.return_stack_entries",
        "1",
        &[],
        "calls",
        (22, 1),
        (29, 1),
    ),
    // gem5 shows no SSE4.2: 16 additions fewer, and 4 of 7 lines of code, which fit
    row("guest.profile", "gem5", &[], "profile", (106, 1), (50, 1)),
];
