// A histogram that grows draw by draw, with its mean and variance.

export class Tally {
  constructor(numBins) {
    this.bins = new Array(numBins).fill(0);
    this.count = 0;
    this.mean = 0;
    this.squares = 0;
  }

  // Counts a number in [0, 1]; mean and squares are updated by Welford's algorithm.
  add(x) {
    this.bins[Math.min(Math.floor(x * this.bins.length), this.bins.length - 1)] += 1;
    this.count += 1;
    const from = x - this.mean;
    this.mean += from / this.count;
    this.squares += from * (x - this.mean);
  }

  get variance() {
    return this.count > 1 ? this.squares / (this.count - 1) : NaN;
  }

  // The density in each bin.
  get densities() {
    return this.bins.map((count) => (this.count ? count * this.bins.length / this.count : 0));
  }
}
