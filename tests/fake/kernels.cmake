# kernels.cmake - the table of the kernels that the fake driver has: each line is a kernel for one set of macros.
#
#   sizes(NAME MACRO[=VALUE]...)                     macros that several kernels share
#   kernel(FILE VARIANT SIZES [MACRO[=VALUE]...])    run_FILE.h, compiled with these macros; SIZES "-" is none
#   often(FILE VARIANT...)                           kernels in which the tests spend most of their time
#
# Each kernel becomes one translation unit in the build folder, which defines the macros and VARIANT (a name that is
# its own) and includes run_FILE.h.  They stand in the list `emulated`, those of often() also in `emulated_often`.  The
# fake driver finds a kernel by the options with which the host compiles it, so a test with sizes that do not stand here
# fails by name.
set(emulated)
set(emulated_often)

function(sizes name)
  set(sizes_${name} ${ARGN} PARENT_SCOPE)
endfunction()

function(kernel file variant sizes)
  set(text "/* Generated from tests/fake/kernels.cmake. */\n#define VARIANT ${file}_${variant}\n")
  if(NOT sizes STREQUAL "-" AND NOT DEFINED sizes_${sizes})
    message(FATAL_ERROR "kernels.cmake: no sizes(${sizes}), for ${file} ${variant}")
  endif()
  foreach(macro IN LISTS sizes_${sizes} ARGN)
    string(REPLACE "=" " " macro ${macro})
    string(APPEND text "#define ${macro}\n")
  endforeach()
  set(source ${CMAKE_CURRENT_BINARY_DIR}/fake/run_${file}_${variant}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "${text}#include \"run_${file}.h\"\n" @ONLY) # written when it changed
  list(APPEND emulated ${source})
  set(emulated ${emulated} PARENT_SCOPE)
endfunction()

function(often file)
  foreach(variant IN LISTS ARGN)
    set(source ${CMAKE_CURRENT_BINARY_DIR}/fake/run_${file}_${variant}.cpp)
    if(NOT source IN_LIST emulated)
      message(FATAL_ERROR "kernels.cmake: no kernel(${file} ${variant}), for often()")
    endif()
    list(APPEND emulated_often ${source})
  endforeach()
  set(emulated_often ${emulated_often} PARENT_SCOPE)
endfunction()

# ---- shPLRNNs: deer.cu, solve.cu, sums.cu, update.cu ------------------------------------------------------------------
sizes(plain  REAL_BITS=64 M=3  N=2 L=8  K=0 CLIPPED=0) # more latent units than variables
sizes(single REAL_BITS=32 M=3  N=2 L=8  K=0 CLIPPED=0) # the same in single precision
sizes(one    REAL_BITS=64 M=1  N=1 L=3  K=0 CLIPPED=0) # one latent unit
sizes(square REAL_BITS=64 M=3  N=3 L=8  K=0 CLIPPED=0) # as many latent units as variables
sizes(rich   REAL_BITS=64 M=2  N=3 L=6  K=1 CLIPPED=1) # fewer latent units than variables, inputs, clipped
sizes(tiles  REAL_BITS=64 M=7  N=2 L=40 K=1 CLIPPED=1) # too many latent units for J in registers, two words of hidden
                                                       # units; inputs, clipped
sizes(tensor REAL_BITS=32 M=11 N=2 L=40 K=1 CLIPPED=1) # X by tensor cores; inputs, clipped
sizes(large  REAL_BITS=64 M=21 N=9 L=70 K=0 CLIPPED=0) # large tiles of J, hidden units that are kept for the sums,
                                                       # small sums in groups
sizes(wide   REAL_BITS=64 M=33 N=2 L=8  K=0 CLIPPED=0) # more latent units than a warp has lanes
sizes(shared REAL_BITS=64 M=5 N=3 L=150 K=0 CLIPPED=1) # hidden units that two warps share
sizes(many   REAL_BITS=64 M=5 N=35 L=40 K=0 CLIPPED=0) # many variables, which threads share
sizes(many_large REAL_BITS=32 M=18 N=70 L=40 K=0 CLIPPED=0) # the same with hidden units that are kept

kernel(deer plain     plain  DIAGONAL=0)
kernel(deer single    single DIAGONAL=0)
kernel(deer one       one    DIAGONAL=0)
kernel(deer rich      rich   DIAGONAL=0)
kernel(deer tiles     tiles  DIAGONAL=0)
kernel(deer wide      wide   DIAGONAL=0) # columns that several lanes share, segments that a whole block works on
kernel(deer diagonal  plain  DIAGONAL=1)
kernel(deer scattered tiles  DIAGONAL=1)

# whole sequences, a warp for each
kernel(solve wide      wide   WARPS=8 NEWTON=0 SEGMENTED=0)
# a block for each
kernel(sequences plain  plain  WARPS=1)
kernel(sequences single single WARPS=1)
kernel(sequences one    one    WARPS=1)
kernel(sequences square square WARPS=1)
kernel(sequences rich   rich   WARPS=1)
kernel(sequences tiles  tiles  WARPS=1)
kernel(sequences shared shared WARPS=2) # one of them has fewer units
kernel(sequences tensor tensor WARPS=1) # the state in shared memory
kernel(sequences large  large  WARPS=4)
kernel(sequences many   many   WARPS=1)
kernel(sequences many_large many_large WARPS=1)
# in segments
kernel(solve shooting  plain  WARPS=8 NEWTON=1 SEGMENTED=1)
kernel(solve single    single WARPS=8 NEWTON=1 SEGMENTED=1)
kernel(solve tiles     tiles  WARPS=8 NEWTON=1 SEGMENTED=1 HASTY=1) # it goes back often
kernel(solve tensor    tensor WARPS=8 NEWTON=1 SEGMENTED=1)
kernel(solve large     large  WARPS=4 NEWTON=1 SEGMENTED=1)
kernel(solve small     large  WARPS=4 NEWTON=1 SEGMENTED=1 SHARED_LIMIT=101376) # the weights stay in global memory
kernel(solve diagonal  wide   WARPS=8 NEWTON=0 SEGMENTED=1)             # joined with diagonals
# more warps than shared memory is for: nothing but their facts is used
kernel(solve too_large large  WARPS=8 NEWTON=1 SEGMENTED=1)
kernel(solve too_small large  WARPS=8 NEWTON=1 SEGMENTED=1 SHARED_LIMIT=101376)
# after deer.cu
kernel(solve guessed_plain  plain  WARPS=8 NEWTON=1 SEGMENTED=1 GUESSED=1)
kernel(solve guessed_single single WARPS=8 NEWTON=1 SEGMENTED=1 GUESSED=1)
kernel(solve guessed_one    one    WARPS=8 NEWTON=1 SEGMENTED=1 GUESSED=1)
kernel(solve guessed_rich   rich   WARPS=8 NEWTON=1 SEGMENTED=1 GUESSED=1)
kernel(solve guessed_tiles  tiles  WARPS=8 NEWTON=1 SEGMENTED=1 GUESSED=1)
kernel(solve guessed_wide   wide   WARPS=8 NEWTON=0 SEGMENTED=1 GUESSED=1)

kernel(sums plain  plain)
kernel(sums single single)
kernel(sums one    one)
kernel(sums square square)
kernel(sums rich   rich)
kernel(sums tiles  tiles  THREADS_MOST=32 ENTRIES_MOST=1) # as if there were fewer threads than hidden units, and no
                                                          # room for all entries at a time
kernel(sums tensor tensor LATENT_BYTES=1300) # as if rows were so long that two warps had room for theirs
kernel(sums large  large)                    # more small sums than a warp has at a time
kernel(sums wide   wide)
kernel(sums shared shared)
kernel(sums many   many)
kernel(sums many_large many_large)

kernel(update plain  plain  RANK=0)
kernel(update single single RANK=0)
kernel(update one    one    RANK=0)
kernel(update square square RANK=0)
kernel(update rich   rich   RANK=2) # a W of two factors
kernel(update tiles  tiles  RANK=0 UPDATE_THREADS=704 PREFETCH_LIMIT=0 SIDE_WARP_MOST=0) # as if neither shared memory nor one
                                                                              # warp were enough
kernel(update tensor tensor RANK=0 UPDATE_THREADS=768)
kernel(update large  large  RANK=0 UPDATE_THREADS=768)
kernel(update wide   wide   RANK=0 UPDATE_THREADS=736)
kernel(update shared shared RANK=0 UPDATE_THREADS=768)
kernel(update many   many   RANK=0 UPDATE_THREADS=704)
kernel(update many_large many_large RANK=0 UPDATE_THREADS=768)

# Rows may lack values: patterns.cu, and with it the kernels of a pass.  update.cu is that of complete data.
function(lacking kernel variant sizes)
  kernel(${kernel} lacking_${variant} ${sizes} ${ARGN} PATTERNS=1)
  set(emulated ${emulated} PARENT_SCOPE)
endfunction()
foreach(sizes plain single one rich tensor wide)
  lacking(patterns ${sizes} ${sizes})
  lacking(sums     ${sizes} ${sizes})
endforeach()
lacking(patterns tiles    tiles SHARED_MOST=0) # as if shared memory were too small for it
lacking(sums     tiles    tiles THREADS_MOST=32 ENTRIES_MOST=1)
lacking(solve    plain    plain  WARPS=8 NEWTON=0 SEGMENTED=0)
lacking(solve    one      one    WARPS=4 NEWTON=0 SEGMENTED=0)
lacking(solve    rich     rich   WARPS=4 NEWTON=0 SEGMENTED=0)
lacking(solve    shooting plain  WARPS=8 NEWTON=1 SEGMENTED=1)
lacking(solve    single   single WARPS=8 NEWTON=1 SEGMENTED=1)
lacking(solve    tiles    tiles  WARPS=8 NEWTON=1 SEGMENTED=1 HASTY=1)
lacking(solve    tensor   tensor WARPS=8 NEWTON=1 SEGMENTED=1)
lacking(solve    diagonal wide   WARPS=8 NEWTON=0 SEGMENTED=1)
lacking(solve    guessed  plain  WARPS=8 NEWTON=1 SEGMENTED=1 GUESSED=1)
lacking(deer     plain    plain  DIAGONAL=0)
lacking(deer     diagonal plain  DIAGONAL=1)
lacking(deer     wide     wide   DIAGONAL=0)
lacking(solve    guessed_wide wide WARPS=8 NEWTON=0 SEGMENTED=1 GUESSED=1)
lacking(solve varied plain WARPS=8 NEWTON=0 SEGMENTED=0 FORCING=1) # with estimates of the strength, below
lacking(solve sparse_cut plain WARPS=8 NEWTON=1 SEGMENTED=1 FORCING=2)
foreach(forcing 1 2)
  lacking(sums     forcing_${forcing} plain FORCING=${forcing})
  lacking(patterns forcing_${forcing} plain FORCING=${forcing})
endforeach()
foreach(bits 32 64) # the golden vectors masked_narrow
  sizes(narrow_${bits} REAL_BITS=${bits} M=2 N=4 L=10 K=0 CLIPPED=0)
  kernel(sequences narrow_${bits} narrow_${bits} WARPS=1)
  kernel(sums narrow_${bits} narrow_${bits})
  kernel(update narrow_${bits} narrow_${bits} RANK=0)
  lacking(solve narrow_${bits} narrow_${bits} WARPS=4 NEWTON=0 SEGMENTED=0)
  lacking(sums narrow_${bits} narrow_${bits})
  lacking(patterns narrow_${bits} narrow_${bits})
endforeach()

# The strength of forcing varies (1), or forcing is sparse (2).
kernel(sequences forcing_1 plain WARPS=1 FORCING=1)
kernel(solve     forcing_2 plain WARPS=8 NEWTON=0 SEGMENTED=0 FORCING=2)
foreach(forcing 1 2)
  kernel(deer   forcing_${forcing}         plain DIAGONAL=0 FORCING=${forcing})
  kernel(solve  forcing_${forcing}_cut     plain WARPS=8 NEWTON=1 SEGMENTED=1 FORCING=${forcing})
  kernel(solve  forcing_${forcing}_guessed plain WARPS=8 NEWTON=1 SEGMENTED=1 GUESSED=1 FORCING=${forcing})
  kernel(sums   forcing_${forcing}         plain FORCING=${forcing})
  kernel(update forcing_${forcing}         plain RANK=0 FORCING=${forcing})
endforeach()

# The strength of forcing is estimated: strength.cu, and with it the kernels of an update.
sizes(alpha         REAL_BITS=64 M=5 N=3 L=16 K=0 CLIPPED=0) # the golden vectors alpha
sizes(alpha_clipped REAL_BITS=64 M=4 N=4 L=20 K=0 CLIPPED=1) # the golden vectors alpha_clipped
function(estimated sizes update) # estimated(SIZES UPDATE_THREADS RANK METHOD...)
  kernel(sums   estimated_${sizes} ${sizes} FORCING=1)
  kernel(update estimated_${sizes} ${sizes} RANK=${ARGV2} UPDATE_THREADS=${update} FORCING=1)
  list(REMOVE_AT ARGN 0)
  foreach(method IN LISTS ARGN)
    kernel(strength ${sizes}_${method} ${sizes} RANK=${ARGV2} METHOD=${method})
  endforeach()
  set(emulated ${emulated} PARENT_SCOPE)
endfunction()
estimated(alpha         288 0 1 2 3 4 5)
estimated(alpha_clipped 288 0 1 2 3 4 5)
estimated(rich          256 2 1 3 4 5)
estimated(one           256 0 2 4)
estimated(single        256 0 3)
estimated(wide          736 0)
foreach(sizes alpha alpha_clipped rich one single)
  kernel(sequences estimated_${sizes} ${sizes} WARPS=1 FORCING=1)
endforeach()
kernel(solve estimated_wide wide WARPS=8 NEWTON=0 SEGMENTED=0 FORCING=1)
foreach(method 1 2 3 4 5)
  kernel(strength plain_${method} plain RANK=0 METHOD=${method})
  lacking(strength plain_${method} plain RANK=0 METHOD=${method})
endforeach()
foreach(method 1 3 4) # as if shared memory were too small for it
  kernel(strength wide_${method} wide RANK=0 METHOD=${method} SHARED_MOST=0)
endforeach()
# by CPU time of the tests with AddressSanitizer
often(deer plain diagonal)
often(solve shooting single large guessed_plain guessed_rich)
often(strength alpha_4 wide_4)

# ---- LSSMs: lssm.cu ------------------------------------------------------------------------------------------------
kernel(lssm golden_32 - REAL_BITS=32 M=6 N=3 L=16 K=0) # the golden vectors lssm
kernel(lssm golden_64 - REAL_BITS=64 M=6 N=3 L=16 K=0)
kernel(lssm inputs_32 - REAL_BITS=32 M=5 N=2 L=9  K=3) # the golden vectors lssm_inputs
kernel(lssm inputs_64 - REAL_BITS=64 M=5 N=2 L=9  K=3)
kernel(lssm plain     - REAL_BITS=64 M=3 N=2 L=8  K=0)
# fewer latent units than variables, hidden units in more than one word; as if shared memory had no room for the step
kernel(lssm wide      - REAL_BITS=32 M=2 N=3 L=37 K=1 UPDATE_THREADS=320 PREFETCH_LIMIT=0)
# the same where values are missing; more hidden units than threads, with tiles of 37 steps
kernel(lssm lacking      - REAL_BITS=64 M=3 N=2 L=8   K=0 GAPS=1)
kernel(lssm lacking_wide - REAL_BITS=32 M=2 N=3 L=37  K=1 UPDATE_THREADS=320 PREFETCH_LIMIT=0 GAPS=1)
kernel(lssm lacking_many - REAL_BITS=64 M=4 N=3 L=140 K=2 UPDATE_THREADS=768 TILE_BYTES=6000 GAPS=1)
kernel(lssm many         - REAL_BITS=64 M=4 N=3 L=140 K=2 UPDATE_THREADS=768 TILE_BYTES=6000) # before there are data

# ---- Mamba-2: mamba2.cu ----------------------------------------------------------------------------------------------
kernel(mamba2 7k_float     - REAL_BITS=32 M=16 N=6 L=128 K=0 COLUMNS=64 UPDATE_THREADS=768) # 7,038 parameters
kernel(mamba2 7k_double    - REAL_BITS=64 M=16 N=6 L=128 K=0 COLUMNS=32 UPDATE_THREADS=768)
kernel(mamba2 17k_float    - REAL_BITS=32 M=32 N=6 L=128 K=0 COLUMNS=64 UPDATE_THREADS=768) # 16,830 parameters
kernel(mamba2 17k_double   - REAL_BITS=64 M=32 N=6 L=128 K=0 COLUMNS=32 UPDATE_THREADS=768)
kernel(mamba2 odd_float    - REAL_BITS=32 M=12 N=3 L=37  K=2 COLUMNS=64 UPDATE_THREADS=768) # odd sizes, inputs
kernel(mamba2 small_double - REAL_BITS=64 M=4  N=1 L=5   K=1 COLUMNS=32 UPDATE_THREADS=640) # narrow, inputs
kernel(mamba2 lacking_odd    - REAL_BITS=32 M=12 N=3 L=37  K=2 COLUMNS=64 UPDATE_THREADS=768 GAPS=1) # values are missing
kernel(mamba2 lacking_small  - REAL_BITS=64 M=4  N=1 L=5   K=1 COLUMNS=32 UPDATE_THREADS=640 GAPS=1)
kernel(mamba2 lacking_double - REAL_BITS=64 M=16 N=6 L=128 K=0 COLUMNS=32 UPDATE_THREADS=768 GAPS=1)

# ---- free runs and their tangent vectors: orbit.cu and, with MAMBA2, mamba2_orbit.cu -----------------------------------
sizes(orbit_small       M=3  N=2 L=8   K=1 CLIPPED=1 DRIVEN=0 PARTS=8) # inputs
sizes(orbit_large       M=33 N=3 L=40  K=0 CLIPPED=0 DRIVEN=0 PARTS=1)
sizes(orbit_lssm        M=5  N=2 L=11  K=0 CLIPPED=0 DRIVEN=0 PARTS=4) # an LSSM of M 3, N 2, L 7
sizes(orbit_lssm_inputs M=5  N=2 L=11  K=2 CLIPPED=0 DRIVEN=1 PARTS=4)
sizes(orbit_mamba2_7k   M=16 N=6 L=128 K=0 MAMBA2)
sizes(orbit_mamba2_odd  M=12 N=3 L=37  K=2 MAMBA2) # odd sizes, inputs
sizes(orbit_mamba2_tiny M=4  N=1 L=9   K=0 MAMBA2) # the smallest width, one observation
sizes(orbit_mamba2_wide M=32 N=2 L=20  K=0 MAMBA2) # the width of the Mamba-2-17k, more vectors than warps

function(orbit variant) # orbit(VARIANT THREADS_OF_ORBITS THREADS_OF_TANGENTS VECTORS)
  kernel(orbit ${variant} orbit_${variant} THREADS=${ARGV1} COUNT=0)
  kernel(orbit ${variant}_tangents orbit_${variant} THREADS=${ARGV2} COUNT=${ARGV3})
  set(emulated ${emulated} PARENT_SCOPE)
endfunction()
orbit(small       32  32  3)
orbit(large       64  64  33)
orbit(lssm        32  32  3)
orbit(lssm_inputs 32  32  3)
orbit(mamba2_7k   256 512 32)
orbit(mamba2_odd  256 512 3)
orbit(mamba2_tiny 256 512 7)
orbit(mamba2_wide 256 512 20)

# ---- D_stsp by Gaussians: mixture.cu ---------------------------------------------------------------------------------
kernel(mixture 3  - D=3)
kernel(mixture 30 - D=30)
