//! Tables as CSV and as Parquet.
//!
//! In both a missing figure is missing: an empty field, or null. In Parquet a column's unit is in its field's
//! metadata under `unit`, and words are a dictionary.

use crate::error::ExportError;
use crate::sheet::Sheet;
use crate::wanted::Wanted;
use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema};
use headwater_dataflow::Recorded;
use headwater_graph::view::Cell;
use headwater_model::printable::{on_one_line, printable};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;

pub(crate) fn csv(
    runs: &[Recorded],
    wanted: &Wanted,
    out: &mut (dyn Write + Send),
) -> Result<(), ExportError> {
    let table = Sheet::new(runs, wanted)?.table;
    let mut csv = csv::Writer::from_writer(out);
    let failed = |e: csv::Error| match e.into_kind() {
        csv::ErrorKind::Io(e) => ExportError::Write(e),
        other => ExportError::Table(format!("{other:?}")),
    };
    let names = table.names().into_iter().map(on_one_line);
    csv.write_record(names).map_err(failed)?;
    for row in 0..table.len() {
        let cells = table.columns().map(|(_, column)| match column.cell(row) {
            Cell::Missing => String::new(),
            Cell::Number(x) => x.to_string(),
            Cell::Text(text) => printable(text).into_owned(),
        });
        csv.write_record(cells).map_err(failed)?;
    }
    Ok(csv.flush()?)
}

pub(crate) fn parquet(
    runs: &[Recorded],
    wanted: &Wanted,
    out: &mut (dyn Write + Send),
) -> Result<(), ExportError> {
    let sheet = Sheet::new(runs, wanted)?;
    let failed = |e: &dyn std::fmt::Display| ExportError::Table(e.to_string());
    let (mut fields, mut arrays) = (Vec::new(), Vec::new());
    for ((name, column), unit) in sheet.table.columns().zip(&sheet.units) {
        let array = column.array();
        let unit = unit.map(|u| ("unit".to_string(), u.to_string()));
        let metadata: HashMap<String, String> = unit.into_iter().collect();
        let field = Field::new(name, array.data_type().clone(), true);
        fields.push(field.with_metadata(metadata));
        arrays.push(array);
    }
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(schema.clone(), arrays).map_err(|e| failed(&e))?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .build();
    let mut parquet =
        ArrowWriter::try_new(out, schema, Some(properties)).map_err(|e| failed(&e))?;
    parquet.write(&batch).map_err(|e| failed(&e))?;
    parquet.close().map_err(|e| failed(&e))?;
    Ok(())
}
