/* Copies of boxes of elements: concat, slice, pad, transpose, reshape. */
