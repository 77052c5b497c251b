//! Rows to Parquet and back, by the columns of a table.

use super::columns::{Column, Values};
use crate::FormatError;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::arrow_writer::{ArrowWriter, ArrowWriterOptions};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::ParquetMetaData;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use std::cell::Cell;
use std::path::Path;
use std::sync::{Arc, Once};

/// Columns that runs of this format may lack, because they were recorded before there were any.
const LATER: [&str; 4] = ["done_ctx", "first_ns", "part", "around"];

/// Rows in one batch.
const BATCH: usize = 1 << 16;

/// The most values that one byte of a table may hold. Equal values take almost no space. But a writer begins a new page
/// after about 20,000 values, and a page has at least 16 bytes.
const VALUES_PER_BYTE: u64 = 20_480 / 16;

fn schema<R>(columns: &[Column<R>]) -> Arc<Schema> {
    let field = |c: &Column<R>| match c.values {
        Values::Unsigned(..) => Field::new(&c.name, DataType::UInt64, true),
        Values::Signed(..) => Field::new(&c.name, DataType::Int64, true),
        Values::Text(..) => Field::new(&c.name, DataType::Utf8, false),
    };
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

/// Small files: no statistics, repeated values by dictionary, times by their differences. In windows times are rounded, so
/// that they repeat.
fn properties<R>(columns: &[Column<R>]) -> WriterProperties {
    let mut builder = WriterProperties::builder()
        .set_compression(Compression::ZSTD(
            ZstdLevel::try_new(15).unwrap_or_default(),
        ))
        .set_statistics_enabled(EnabledStatistics::None)
        .set_created_by("headwater".to_string());
    let windows = columns.iter().any(|c| c.name == "first_of_call");
    let by_difference = |name: &str| name.ends_with("_ns") && !windows;
    for c in columns.iter().filter(|c| by_difference(&c.name)) {
        let path = ColumnPath::from(c.name.as_str());
        builder = builder
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
    }
    builder.build()
}

/// Writes rows to `path`.
pub(super) fn write<R>(path: &Path, columns: &[Column<R>], rows: &[R]) -> Result<(), FormatError> {
    let file = headwater_files::create(path).map_err(FormatError::io("write", path))?;
    let damaged = |e: &dyn std::fmt::Display| FormatError::Io {
        what: "write",
        path: path.to_path_buf(),
        source: std::io::Error::other(e.to_string()),
    };
    let options = ArrowWriterOptions::new()
        .with_properties(properties(columns))
        .with_skip_arrow_metadata(true);
    let schema = schema(columns);
    let mut writer = ArrowWriter::try_new_with_options(file, Arc::clone(&schema), options)
        .map_err(|e| damaged(&e))?;
    for chunk in rows.chunks(BATCH) {
        let arrays = columns.iter().map(|c| array(c, chunk)).collect();
        let batch = RecordBatch::try_new(Arc::clone(&schema), arrays).map_err(|e| damaged(&e))?;
        writer.write(&batch).map_err(|e| damaged(&e))?;
    }
    writer.close().map_err(|e| damaged(&e))?;
    Ok(())
}

fn array<R>(column: &Column<R>, rows: &[R]) -> ArrayRef {
    match &column.values {
        Values::Unsigned(get, _) => Arc::new(rows.iter().map(get).collect::<UInt64Array>()),
        Values::Signed(get, _) => Arc::new(rows.iter().map(get).collect::<Int64Array>()),
        Values::Text(get, _) => {
            Arc::new(rows.iter().map(|r| Some(get(r))).collect::<StringArray>())
        }
    }
}

thread_local! {
    /// Whether this thread is inside the Parquet reader.
    static READING: Cell<bool> = const { Cell::new(false) };
}

/// Panics inside the reader print nothing. The hook belongs to the process and runs are read by many
/// threads at once, so it is set once and asks the thread, instead of being taken off and put back.
fn quiet_while_reading() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !READING.get() {
                before(info);
            }
        }));
    });
}

/// Reads rows from `path`.
pub(super) fn read<R: Default + Clone>(
    path: &Path,
    columns: &[Column<R>],
) -> Result<Vec<R>, FormatError> {
    // The Parquet reader checks its input, but a mutated file may still hit one of its assertions;
    // that is damage to report, not a reason to abort.
    quiet_while_reading();
    READING.set(true);
    let read =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| read_columns(path, columns)));
    READING.set(false);
    read.unwrap_or_else(|_| {
        Err(FormatError::damaged(
            path,
            "it is not a Parquet file that can be read",
        ))
    })
}

/// Refuses a table that claims more rows than a file of so many bytes can hold, before there is memory for them.
fn check_rows(path: &Path, metadata: &ParquetMetaData, bytes: u64) -> Result<(), FormatError> {
    let file = metadata.file_metadata();
    let count = |n: i64| u64::try_from(n).unwrap_or(u64::MAX);
    let groups = metadata.row_groups().iter();
    // The reader goes by the groups of rows.
    let grouped = groups.fold(0_u64, |sum, g| sum.saturating_add(count(g.num_rows())));
    let rows = grouped.max(count(file.num_rows()));
    let columns = file.schema_descr().num_columns().max(1) as u64;
    if rows.saturating_mul(columns) > bytes.saturating_mul(VALUES_PER_BYTE) {
        let why = format!("it claims {rows} rows, more than its {bytes} bytes can hold");
        return Err(FormatError::damaged(path, why));
    }
    Ok(())
}

fn read_columns<R: Default + Clone>(
    path: &Path,
    columns: &[Column<R>],
) -> Result<Vec<R>, FormatError> {
    let (file, bytes) = headwater_files::open(path).map_err(FormatError::io("read", path))?;
    let damaged = |e: parquet::errors::ParquetError| FormatError::damaged(path, e.to_string());
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(damaged)?;
    check_rows(path, builder.metadata(), bytes)?;
    let reader = builder.with_batch_size(BATCH).build().map_err(damaged)?;
    let mut rows: Vec<R> = Vec::new();
    for batch in reader {
        let batch = batch.map_err(|e| FormatError::damaged(path, e.to_string()))?;
        let start = rows.len();
        rows.resize(start + batch.num_rows(), R::default());
        for column in columns {
            let missing = || {
                FormatError::damaged(
                    path,
                    format!("column {} is missing or of another type", column.name),
                )
            };
            let Some(array) = batch.column_by_name(&column.name) else {
                if LATER.contains(&&*column.name) {
                    continue;
                }
                return Err(missing());
            };
            let rows = rows.iter_mut().skip(start);
            match &column.values {
                Values::Unsigned(_, set) => {
                    let array = array
                        .as_any()
                        .downcast_ref::<UInt64Array>()
                        .ok_or_else(missing)?;
                    rows.zip(array).for_each(|(row, v)| set(row, v));
                }
                Values::Signed(_, set) => {
                    let array = array
                        .as_any()
                        .downcast_ref::<Int64Array>()
                        .ok_or_else(missing)?;
                    rows.zip(array).for_each(|(row, v)| set(row, v));
                }
                Values::Text(_, set) => {
                    let array = array
                        .as_any()
                        .downcast_ref::<StringArray>()
                        .ok_or_else(missing)?;
                    rows.zip(array)
                        .for_each(|(row, v)| set(row, v.unwrap_or("")));
                }
            }
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::super::columns::Table;
    use super::*;
    use headwater_model::run::{CollectiveWait, MessageEdge};

    fn as_before<R: Table + Default + Clone>(rows: &[R]) -> Vec<R> {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        let mut known = R::columns();
        known.retain(|c| !LATER.contains(&&*c.name));
        assert!(known.len() < R::columns().len());
        write(file.path(), &known, rows).expect("writes");
        read(file.path(), &R::columns()).expect("reads")
    }

    #[test]
    fn tables_from_before_a_column_was_there_can_be_read() {
        let messages = [MessageEdge::default()];
        assert_eq!(as_before(&messages), messages);
        let collectives = [CollectiveWait::default()];
        assert_eq!(as_before(&collectives), collectives);
        let symbols = [headwater_model::run::Symbol::default()];
        assert_eq!(as_before(&symbols), symbols);
    }
}
