//! The page about the format says what the format is.

use std::path::Path;

#[test]
fn the_page_is_the_one_made_from_the_tables() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/FORMAT.md");
    let header = schemars::schema_for!(headwater_model::run::Header);
    let made = headwater_format::format_document(header.as_value());
    if std::env::var_os("HEADWATER_REMAKE").is_some() {
        std::fs::write(&page, &made).expect("writes docs/FORMAT.md");
    }
    let kept = std::fs::read_to_string(&page).unwrap_or_default();
    assert!(
        kept == made,
        "docs/FORMAT.md says otherwise; remake it with HEADWATER_REMAKE=1"
    );
}
