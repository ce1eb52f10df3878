//! Vectors and quaternions over lanes.

use super::{Lanes, Row};

/// Three lanes-wide components.
#[derive(Clone, Copy)]
pub struct Vec3<L> {
    /// Left.
    pub x: L,
    /// Up.
    pub y: L,
    /// Forward.
    pub z: L,
}

/// A rotation per lane, (x, y, z, w).
#[derive(Clone, Copy)]
pub struct Quat<L> {
    /// i
    pub x: L,
    /// j
    pub y: L,
    /// k
    pub z: L,
    /// Real part.
    pub w: L,
}

impl<L: Lanes> Vec3<L> {
    /// From components.
    #[inline(always)]
    pub fn new(x: L, y: L, z: L) -> Self {
        Self { x, y, z }
    }
    /// Zero.
    #[inline(always)]
    pub fn zero() -> Self {
        Self::new(L::zero(), L::zero(), L::zero())
    }
    /// The same vector in every lane.
    #[inline(always)]
    pub fn splat(v: [f32; 3]) -> Self {
        Self::new(L::splat(v[0]), L::splat(v[1]), L::splat(v[2]))
    }
    /// From three rows.
    #[inline(always)]
    pub fn load(rows: &[Row; 3], at: usize) -> Self {
        Self::new(L::load(&rows[0], at), L::load(&rows[1], at), L::load(&rows[2], at))
    }
    /// To three rows.
    #[inline(always)]
    pub fn store(self, rows: &mut [Row; 3], at: usize) {
        self.x.store(&mut rows[0], at);
        self.y.store(&mut rows[1], at);
        self.z.store(&mut rows[2], at);
    }
    /// Sum.
    #[inline(always)]
    pub fn plus(self, o: Self) -> Self {
        Self::new(self.x + o.x, self.y + o.y, self.z + o.z)
    }
    /// Difference.
    #[inline(always)]
    pub fn minus(self, o: Self) -> Self {
        Self::new(self.x - o.x, self.y - o.y, self.z - o.z)
    }
    /// Times a scalar per lane.
    #[inline(always)]
    pub fn scale(self, s: L) -> Self {
        Self::new(self.x * s, self.y * s, self.z * s)
    }
    /// `self * s + o`.
    #[inline(always)]
    pub fn scale_add(self, s: L, o: Self) -> Self {
        Self::new(self.x.mul_add(s, o.x), self.y.mul_add(s, o.y), self.z.mul_add(s, o.z))
    }
    /// Dot product.
    #[inline(always)]
    pub fn dot(self, o: Self) -> L {
        self.x.mul_add(o.x, self.y.mul_add(o.y, self.z * o.z))
    }
    /// Cross product.
    #[inline(always)]
    pub fn cross(self, o: Self) -> Self {
        Self::new(
            self.z.neg_mul_add(o.y, self.y * o.z),
            self.x.neg_mul_add(o.z, self.z * o.x),
            self.y.neg_mul_add(o.x, self.x * o.y),
        )
    }
    /// Squared length.
    #[inline(always)]
    pub fn length_squared(self) -> L {
        self.dot(self)
    }
    /// Length, at least 1e-4.
    #[inline(always)]
    pub fn safe_length(self) -> L {
        self.dot(self).max(L::splat(1e-8)).sqrt()
    }
    /// Unit length; shorter than 1e-4 it is only scaled up.
    #[inline(always)]
    pub fn normalize(self) -> Self {
        self.scale(L::one() / self.safe_length())
    }
    /// Without its component along the unit vector `axis`.
    #[inline(always)]
    pub fn reject(self, axis: Self) -> Self {
        axis.scale_add(-self.dot(axis), self)
    }
    /// `a` or `b` per lane.
    #[inline(always)]
    pub fn select(mask: L::Mask, a: Self, b: Self) -> Self {
        Self::new(L::select(mask, a.x, b.x), L::select(mask, a.y, b.y), L::select(mask, a.z, b.z))
    }
}

impl<L: Lanes> Quat<L> {
    /// From components.
    #[inline(always)]
    pub fn new(x: L, y: L, z: L, w: L) -> Self {
        Self { x, y, z, w }
    }
    /// No rotation.
    #[inline(always)]
    pub fn identity() -> Self {
        Self::new(L::zero(), L::zero(), L::zero(), L::one())
    }
    /// From four rows.
    #[inline(always)]
    pub fn load(rows: &[Row; 4], at: usize) -> Self {
        Self::new(L::load(&rows[0], at), L::load(&rows[1], at), L::load(&rows[2], at), L::load(&rows[3], at))
    }
    /// To four rows.
    #[inline(always)]
    pub fn store(self, rows: &mut [Row; 4], at: usize) {
        self.x.store(&mut rows[0], at);
        self.y.store(&mut rows[1], at);
        self.z.store(&mut rows[2], at);
        self.w.store(&mut rows[3], at);
    }
    /// Inverse of a unit quaternion.
    #[inline(always)]
    pub fn conjugate(self) -> Self {
        Self::new(-self.x, -self.y, -self.z, self.w)
    }
    /// Hamilton product: first `o`, then `self`.
    #[inline(always)]
    pub fn times(self, o: Self) -> Self {
        let (a, b) = (self, o);
        Self::new(
            a.z.neg_mul_add(b.y, a.y.mul_add(b.z, a.x.mul_add(b.w, a.w * b.x))),
            a.x.neg_mul_add(b.z, a.z.mul_add(b.x, a.y.mul_add(b.w, a.w * b.y))),
            a.y.neg_mul_add(b.x, a.x.mul_add(b.y, a.z.mul_add(b.w, a.w * b.z))),
            a.z.neg_mul_add(b.z, a.y.neg_mul_add(b.y, a.x.neg_mul_add(b.x, a.w * b.w))),
        )
    }
    /// `v + 2 w (u x v) + 2 u x (u x v)`, u the vector part.
    #[inline(always)]
    pub fn rotate(self, v: Vec3<L>) -> Vec3<L> {
        let u = Vec3::new(self.x, self.y, self.z);
        let t = u.cross(v);
        let t = t.plus(t);
        t.scale_add(self.w, v).plus(u.cross(t))
    }
    /// Rotation by the inverse.
    #[inline(always)]
    pub fn rotate_inverse(self, v: Vec3<L>) -> Vec3<L> {
        self.conjugate().rotate(v)
    }
    /// Squared norm.
    #[inline(always)]
    pub fn norm_squared(self) -> L {
        self.x.mul_add(self.x, self.y.mul_add(self.y, self.z.mul_add(self.z, self.w * self.w)))
    }
    /// Times a scalar per lane.
    #[inline(always)]
    pub fn scale(self, s: L) -> Self {
        Self::new(self.x * s, self.y * s, self.z * s, self.w * s)
    }
    /// Unit length; the identity where all is zero. The bias that sees to that is below the last bit of
    /// anything else, and cheaper than a comparison and two selections.
    #[inline(always)]
    pub fn normalize(self) -> Self {
        let q = Self::new(self.x, self.y, self.z, self.w + L::splat(1e-12));
        q.scale(L::one() / q.norm_squared().sqrt())
    }
    /// The shortest rotation that takes direction `a` to direction `b` (both unit); for opposite directions
    /// half a turn about an axis across `a`.
    #[inline(always)]
    pub fn between(a: Vec3<L>, b: Vec3<L>) -> Self {
        let w = L::one() + a.dot(b);
        let opposite = w.lt(L::splat(1e-6));
        // Whichever of (0, -z, y) and (-z, 0, x) is not near zero.
        let flat = a.x.abs().lt(L::splat(0.7));
        let across = Vec3::select(flat, Vec3::new(L::zero(), -a.z, a.y), Vec3::new(-a.z, L::zero(), a.x));
        let v = Vec3::select(opposite, across, a.cross(b));
        Self::new(v.x, v.y, v.z, L::select(opposite, L::zero(), w)).normalize()
    }
    /// Columns of the rotation matrix.
    #[inline(always)]
    pub fn columns(self) -> [Vec3<L>; 3] {
        let (x, y, z, w) = (self.x, self.y, self.z, self.w);
        let (x2, y2, z2) = (x + x, y + y, z + z);
        let (xx, yy, zz) = (x * x2, y * y2, z * z2);
        let one = L::one();
        [
            Vec3::new(one - (yy + zz), x.mul_add(y2, w * z2), w.neg_mul_add(y2, x * z2)),
            Vec3::new(w.neg_mul_add(z2, x * y2), one - (xx + zz), y.mul_add(z2, w * x2)),
            Vec3::new(x.mul_add(z2, w * y2), w.neg_mul_add(x2, y * z2), one - (xx + yy)),
        ]
    }
    /// `a` or `b` per lane.
    #[inline(always)]
    pub fn select(mask: L::Mask, a: Self, b: Self) -> Self {
        Self::new(
            L::select(mask, a.x, b.x),
            L::select(mask, a.y, b.y),
            L::select(mask, a.z, b.z),
            L::select(mask, a.w, b.w),
        )
    }
}

/// `a + (b - a) t`.
#[inline(always)]
pub fn lerp<L: Lanes>(a: L, b: L, t: L) -> L {
    (b - a).mul_add(t, a)
}

/// `exp(-x)` for `x >= 0`: a Taylor polynomial of `exp(x / 16)`, squared four times and inverted, because
/// sums and products give the same bits on every processor. Relative error below 2e-6 up to 8 and 2e-5 up to 16,
/// where it is held.
#[inline(always)]
pub fn exp_neg<L: Lanes>(x: L) -> L {
    let u = x.clamp(L::zero(), L::splat(16.0)) * L::splat(1.0 / 16.0);
    let p = u.mul_add(L::splat(1.0 / 40320.0), L::splat(1.0 / 5040.0));
    let p = u.mul_add(p, L::splat(1.0 / 720.0));
    let p = u.mul_add(p, L::splat(1.0 / 120.0));
    let p = u.mul_add(p, L::splat(1.0 / 24.0));
    let p = u.mul_add(p, L::splat(1.0 / 6.0));
    let p = u.mul_add(p, L::splat(0.5));
    let p = u.mul_add(p, L::one());
    let p = u.mul_add(p, L::one());
    let p = p * p;
    let p = p * p;
    let p = p * p;
    L::one() / (p * p)
}

/// Sine and cosine by Taylor polynomials; error below 1e-6 for angles up to 1.2 rad.
#[inline(always)]
pub fn sin_cos_small<L: Lanes>(x: L) -> (L, L) {
    let x2 = x * x;
    let s = x2.mul_add(L::splat(2.755_731_9e-6), L::splat(-1.984_127e-4));
    let s = x2.mul_add(s, L::splat(8.333_333e-3));
    let s = x2.mul_add(s, L::splat(-1.666_666_7e-1));
    let s = (x * x2).mul_add(s, x);
    let c = x2.mul_add(L::splat(-2.755_732e-7), L::splat(2.480_158_7e-5));
    let c = x2.mul_add(c, L::splat(-1.388_888_9e-3));
    let c = x2.mul_add(c, L::splat(4.166_666_6e-2));
    let c = x2.mul_add(c, L::splat(-0.5));
    let c = x2.mul_add(c, L::one());
    (s, c)
}
