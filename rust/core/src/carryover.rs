//! Carry-over (DESIGN.md section 8).

/// The fields of a carry-over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CarryOver {}

impl CarryOver {
    /// Fields for the mark.
    pub fn fields<N>(&self) -> crate::build::Build<N> {
        crate::build::Build::Map(Vec::new())
    }
}
impl CarryOver {
    pub fn read<N: crate::node::Node>(_n: &N) -> Option<Self> {
        None
    }
    pub fn text(&self, _m: u64, _c: &mut dyn crate::count::Counter) -> Result<(String, Self), crate::count::Failed> {
        Ok((String::new(), Self::default()))
    }
}
pub fn extract<N: crate::node::Node>(_d: &crate::draft::Draft<N>, _g: &[usize], _m: u64) -> CarryOver {
    CarryOver::default()
}
pub fn merge(_o: &CarryOver, n: CarryOver) -> CarryOver {
    n
}
