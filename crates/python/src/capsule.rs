//! The Arrow PyCapsule interface, both ways: the one place with `unsafe`.
//!
//! A capsule holds a struct of Arrow's C data interface, which owns what it points to until it is moved out. Who takes
//! it moves it by `FFI_*::from_raw`, which leaves an empty struct in the capsule, so that nothing is freed twice; one
//! that nobody takes frees it with the capsule.
#![allow(unsafe_code)]

use crate::error::{OrRaise, raised};
use arrow::array::{
    Array, ArrayRef, AsArray, RecordBatch, RecordBatchIterator, RecordBatchReader, make_array,
};
use arrow::compute::{cast, concat, concat_batches};
use arrow::datatypes::{DataType, Float64Type, Int32Type, TimeUnit};
use arrow::error::ArrowError;
use arrow::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use headwater_graph::view::Column;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use std::ffi::CStr;

const STREAM: &CStr = c"arrow_array_stream";
const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";

/// A stream of one batch.
pub fn stream(py: Python<'_>, batch: RecordBatch) -> PyResult<Bound<'_, PyAny>> {
    let schema = batch.schema();
    let reader = RecordBatchIterator::new([Ok::<_, ArrowError>(batch)], schema);
    let stream = FFI_ArrowArrayStream::new(Box::new(reader));
    Ok(PyCapsule::new_with_value(py, stream, STREAM)?.into_any())
}

/// All rows of anything that has a stream of batches; messages name the argument.
pub fn batch(given: &Bound<'_, PyAny>, argument: &str) -> PyResult<RecordBatch> {
    let no_table = |why: &dyn std::fmt::Display| {
        raised(format!(
            "argument {argument}: a table of pyarrow, polars, pandas, DuckDB or another library with Arrow streams is needed, and not {why}"
        ))
    };
    if !given.hasattr("__arrow_c_stream__")? {
        return Err(no_table(&given.get_type().name()?));
    }
    let capsule = given.call_method0("__arrow_c_stream__")?;
    let capsule = capsule.cast::<PyCapsule>()?;
    let stream = capsule.pointer_checked(Some(STREAM))?;
    // SAFETY: the name says that the capsule holds such a stream (Arrow PyCapsule interface), and the capsule is
    // alive. The stream is moved out, and an empty one stays there.
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(stream.as_ptr().cast()) };
    let reader = RecordBatchStreamReader::try_new(stream).map_err(|_| no_table(&"one column"))?;
    let schema = reader.schema();
    let batches = reader.collect::<Result<Vec<_>, _>>();
    let batches: Vec<RecordBatch> = batches.map_err(|e| no_table(&e))?;
    match batches.as_slice() {
        [one] => Ok(one.clone()),
        many => concat_batches(&schema, many).or_raise(),
    }
}

/// The column that anything with an Arrow array, or a stream of chunks of one, contains; `None` if it has none.
pub fn column(given: &Bound<'_, PyAny>) -> PyResult<Option<Column>> {
    if given.hasattr("__arrow_c_array__")? {
        let capsules = given.call_method0("__arrow_c_array__")?;
        let capsules = capsules.cast::<PyTuple>()?;
        let (schema, array) = (capsules.get_item(0)?, capsules.get_item(1)?);
        let schema = schema.cast::<PyCapsule>()?.pointer_checked(Some(SCHEMA))?;
        let array = array.cast::<PyCapsule>()?.pointer_checked(Some(ARRAY))?;
        // SAFETY: the names say what the capsules hold, and both are alive; the schema is only read, and the array
        // moved out, which leaves an empty one.
        let data = unsafe {
            let schema: &FFI_ArrowSchema = &*schema.as_ptr().cast();
            from_ffi(FFI_ArrowArray::from_raw(array.as_ptr().cast()), schema)
        };
        return Ok(Some(column_of("values", &make_array(data.or_raise()?))?));
    }
    if given.hasattr("__arrow_c_stream__")? {
        let chunks = chunks(given)?;
        let chunks: Vec<&dyn Array> = chunks.iter().map(|c| &**c).collect();
        let whole = concat(&chunks).or_raise()?;
        return Ok(Some(column_of("values", &whole)?));
    }
    Ok(None)
}

/// The chunks of a stream that is a column, not a table.
fn chunks(given: &Bound<'_, PyAny>) -> PyResult<Vec<ArrayRef>> {
    let capsule = given.call_method0("__arrow_c_stream__")?;
    let capsule = capsule.cast::<PyCapsule>()?;
    let stream = capsule.pointer_checked(Some(STREAM))?;
    // SAFETY: as in `batch`.
    let mut stream = unsafe { FFI_ArrowArrayStream::from_raw(stream.as_ptr().cast()) };
    let refused = || raised("argument values: the Arrow stream cannot be read");
    let (Some(get_schema), Some(get_next)) = (stream.get_schema(), stream.get_next()) else {
        return Err(refused());
    };
    let mut schema = FFI_ArrowSchema::empty();
    // SAFETY: both functions are the stream's own, and it has not been released; they fill in what they are given.
    if unsafe { get_schema(&mut stream, &mut schema) } != 0 {
        return Err(refused());
    }
    let mut all = Vec::new();
    loop {
        let mut array = FFI_ArrowArray::empty();
        // SAFETY: as above.
        if unsafe { get_next(&mut stream, &mut array) } != 0 {
            return Err(refused());
        }
        if array.is_released() {
            break;
        }
        // SAFETY: the array came from the stream that returned the schema.
        let data = unsafe { from_ffi(array, &schema) };
        all.push(make_array(data.or_raise()?));
    }
    Ok(all)
}

/// A column of figures or words: `Float64` and `Dictionary(Int32, Utf8)` as they are, others converted.
pub fn column_of(name: &str, array: &ArrayRef) -> PyResult<Column> {
    // What comes from others is looked at once: a wrong index must not be followed later.
    array.to_data().validate_full().or_raise()?;
    let words = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    let is_words = match array.data_type() {
        DataType::Dictionary(_, of) => !of.is_numeric(),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null => true,
        _ => false,
    };
    let wanted = if is_words { words } else { DataType::Float64 };
    if let DataType::Duration(unit) = array.data_type() {
        return seconds(array, *unit);
    }
    let array = if *array.data_type() == wanted {
        array.clone()
    } else {
        let what = |_| {
            raised(format!(
                "column {name} is of type {}, and figures or words are needed",
                array.data_type()
            ))
        };
        cast(array, &wanted).map_err(what)?
    };
    if !is_words {
        return Ok(Column::from_floats(array.as_primitive::<Float64Type>()));
    }
    let column = array
        .as_dictionary_opt::<Int32Type>()
        .and_then(Column::from_words);
    column.ok_or_else(|| raised(format!("column {name} holds no words")))
}

/// Durations as seconds, as all times are.
fn seconds(array: &ArrayRef, unit: TimeUnit) -> PyResult<Column> {
    let ticks = match unit {
        TimeUnit::Second => 1.0,
        TimeUnit::Millisecond => 1e3,
        TimeUnit::Microsecond => 1e6,
        TimeUnit::Nanosecond => 1e9,
    };
    let whole = cast(array, &DataType::Int64).or_raise()?;
    let whole = cast(&whole, &DataType::Float64).or_raise()?;
    let seconds = whole.as_primitive::<Float64Type>().unary(|n| n / ticks);
    Ok(Column::from_floats(&seconds))
}
