//! The feature `override`: with it C's malloc is snug's, without it the system's. One test, so that nothing else allocates.

#[test]
fn malloc_is_snugs_if_the_feature_says_so() {
    let before = snug::stats().allocations;
    for _ in 0..1000 {
        unsafe {
            let block = libc::malloc(100);
            assert!(!block.is_null());
            block.cast::<u8>().write_volatile(1);
            libc::free(block);
        }
    }
    let served = snug::stats().allocations - before;
    assert_eq!(
        served >= 1000,
        cfg!(feature = "override"),
        "{served} served"
    );
}
