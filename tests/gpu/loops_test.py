"""Tests of loops.py with short listings."""
import unittest

import loops

# Blocks 1 to 3 are a step with two loads. The second load is behind a branch that waits for the first.
NVK = """
block.u 0 L2 [] -> {
      r9        = ld.global.a64.constant.b128 [r4..6]                // delay=1 wr:0
                  bra pT L4                                          // delay=1 wt=000001
} -> [1]
block.u 1 L4 [0, 3] -> {
      r10..14   = ld.global.a64.constant.b128 [r4..6]                // delay=1 wr:0
      r20..24   = ldsm.16.m8n8.x4 [r0]                               // delay=1 wr:1
                  bra !up0 L6                                        // delay=1 {first}
}} -> [2, 3]
block.u 2 L5 [1] -> {{
      r14..18   = ld.global.a64.constant.b128 [r6..8]                // delay=1 wr:2
      r0..4     = hmma.m16n8k16.f32 r20..24 r24..26 r0..4            // delay=1 wt=000010
                  bra pT L6                                          // delay=1 {second}
}} -> [3]
block.u 3 L6 [1, 2] -> {{
@!p0              st.shared.strong.cta.b128 [r92.x16] r10..14        // delay=1 wt=000101
                  bra !up1 L4                                        // delay=1
}} -> [1, 4]
block.u 4 L7 [3] -> {{
                  exit                                               // delay=1
}} -> []
"""

AMD = """
BB0:
	s_load_b128 s[0:3], s[4:5], 0x0                             ; f4080402 f8000000
	s_branch BB2                                                ; bfa00002
BB1:
	ds_store_b128 v0, v[8:11]                                   ; db7c0000 00000800
	s_cbranch_scc0 BB4                                          ; bfa10010
BB2:
	buffer_load_b128 v[8:11], v7, s[0:3], 0 offen               ; e05c0000 80010807
	{between}
	buffer_load_b128 v[12:15], v7, s[0:3], 0 offen offset:64    ; e05c0040 80010c07
	v_wmma_f32_16x16x16_f16 v[80:87], v[120:127], v[128:135], v[80:87] ; cc404050 1d430178
	v_wmma_f32_16x16x16_f16 v[88:95], v[120:127], v[128:135], v[88:95] ; cc404058 1d430178
BB3:
	{behind}
	v_add_f32 v1, v12, v13                                      ; 06021b0c
	s_branch BB1                                                ; bfa0fff0
BB4:
	s_endpgm                                                    ; bfb00000
"""

# A step with two loads, the second on one path only, and two matrix instructions. Its uniform load does not count.
INTEL = """
mov(16)         g3<1>D          0D                              { align1 1H };
LABEL0:
send(16)        g10UD           g3UD            nullUD          0x04403580                0x00000000
                ugm MsgDesc: ( load, a32, d32, V4, L1STATE_L3MOCS dst_len = 4 bti )  BTI 0  base_offset 0  { align1 1H I@1 $0 };
{between}
(+f0.0) if(16)  JIP:  LABEL1          UIP:  LABEL1              { align1 1H };
send(16)        g20UD           g3UD            nullUD          0x04403580                0x00000000
                ugm MsgDesc: ( load, a32, d32, V4, L1STATE_L3MOCS dst_len = 4 bti )  BTI 0  base_offset 0  { align1 1H $1 };
send(1)         g30UD           g3UD            nullUD          0x0210d580                0x00000000
                ugm MsgDesc: ( load, a64, d32, V16, transpose, L1STATE_L3MOCS dst_len = 1 flat )  base_offset 0  { align1 WE_all 1N $2 };
LABEL1:
endif(16)       JIP:  LABEL2                                    { align1 1H };
mov(16)         g40<1>UD        g30<0,1,0>UD                    { align1 1H $2.dst };
mov(16)         g40<1>UD        g10<8,8,1>UD                    { align1 1H $0.dst };
mov(16)         g41<1>UD        g20<8,8,1>UD                    { align1 1H $1.dst };
dpas.8x8(16)    g50<1>F         g50<1,1,0>F     g10<1,1,0>HF    g20<1,1,0>HF { align1 WE_all 1H $3 };
dpas.8x8(16)    g58<1>F         g58<1,1,0>F     g10<1,1,0>HF    g20<1,1,0>HF { align1 WE_all 1H $4 };
LABEL2:
(-f0.0) while(16) JIP:  LABEL0                                  { align1 1H };
"""

RARE = """
BB0:
	s_branch BB1                                                ; bfa00001
BB1:
	buffer_load_b128 v[8:11], v7, s[0:3], 0 offen               ; e05c0000 80010807
	s_cbranch_scc0 BB3                                          ; bfa10010
BB2:
	v_add_f32 v1, v12, v13                                      ; 06021b0c
	v_add_f32 v1, v12, v13                                      ; 06021b0c
BB3:
	s_waitcnt vmcnt(0)                                          ; bf8903f7
	v_wmma_f32_16x16x16_f16 v[80:87], v[120:127], v[128:135], v[80:87] ; cc404050 1d430178
	s_cbranch_scc0 BB1                                          ; bfa1fff0
BB4:
	s_endpgm                                                    ; bfb00000
"""

WITHOUT_LOADS = """
BB0:
	buffer_load_b128 v[8:11], v7, s[0:3], 0 offen               ; e05c0000 80010807
BB1:
	v_wmma_f32_16x16x16_f16 v[80:87], v[120:127], v[128:135], v[80:87] ; cc404050 1d430178
	s_cbranch_scc0 BB1                                          ; bfa1fff0
	s_endpgm                                                    ; bfb00000
"""


class Nvidia(unittest.TestCase):
    def groups(self, first="", second=""):
        return loops.read_listing(NVK.replace("{{", "{").replace("}}", "}").replace("{first}", first).replace("{second}", second))

    def test_loads_that_are_waited_for_together(self):
        self.assertEqual(self.groups(), (1, 8.0))

    def test_a_branch_that_waits(self):
        self.assertEqual(self.groups(first="wt=000001")[0], 2)

    def test_a_wait_for_shared_memory_alone(self):
        self.assertEqual(self.groups(first="wt=000010", second="wt=000010")[0], 1)


class Amd(unittest.TestCase):
    def groups(self, between, behind):
        return loops.read_listing(AMD.format(between=between, behind=behind))

    def test_loads_that_are_waited_for_together(self):
        self.assertEqual(self.groups("s_nop 0", "s_waitcnt vmcnt(0) lgkmcnt(1)"), (1, 3.0))

    def test_loads_in_turn(self):
        self.assertEqual(self.groups("s_waitcnt vmcnt(0)", "s_waitcnt vmcnt(0)")[0], 2)
        self.assertEqual(self.groups("s_wait_loadcnt 0x0", "s_wait_loadcnt_dscnt 0x3")[0], 2)

    def test_loads_for_the_turn_after(self):
        self.assertEqual(self.groups("s_nop 0", "s_waitcnt vmcnt(2)")[0], 1)

    def test_waits_for_other_memory(self):
        self.assertEqual(self.groups("s_waitcnt lgkmcnt(0)", "s_wait_loadcnt 0x0")[0], 1)

    def test_what_is_rare_does_not_count(self):
        self.assertEqual(loops.read_listing(RARE), (1, 2.0))

    def test_a_loop_without_loads(self):
        self.assertIsNone(loops.read_listing(WITHOUT_LOADS))

    def test_another_makers_listing(self):
        self.assertIsNone(loops.read_listing("l0:\n(ss)mad.f32 r0.x, r1.x, r2.x, r3.x\n"))


class Intel(unittest.TestCase):
    def groups(self, between):
        return loops.read_listing(INTEL.replace("{between}", between))

    def test_loads_that_are_waited_for_together(self):
        self.assertEqual(self.groups("mov(16)  g9<1>D  0D  { align1 1H };"), (1, 5.0))

    def test_loads_in_turn(self):
        self.assertEqual(self.groups("sync nop(1)  null<0,1,0>UB  { align1 WE_all 1N $0.dst };"), (2, 5.0))

    def test_a_wait_for_what_was_read_of_registers(self):
        self.assertEqual(self.groups("sync nop(1)  null<0,1,0>UB  { align1 WE_all 1N $0.src };")[0], 1)


if __name__ == "__main__":
    unittest.main()
