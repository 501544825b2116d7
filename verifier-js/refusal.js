// @ts-check

/** The first failure ends a check: its stable code, its place, and a sentence for a person. */
export class Refusal extends Error {
  /**
   * @param {string} code
   * @param {string} place JSON Pointer, `entry N` or `byte N`; empty for the whole file
   * @param {string} detail
   * @param {'refused' | 'unproven' | 'unusable'} verdict
   */
  constructor(code, place, detail, verdict = 'refused') {
    super(`${code} at ${place || 'the top'}: ${detail}`);
    this.name = 'Refusal';
    this.code = code;
    this.place = place;
    this.detail = detail;
    this.verdict = verdict;
  }

  /**
   * Runs a step whose refusals belong to one place of the file.
   * @template T
   * @param {string} place
   * @param {() => T} step
   * @returns {T}
   */
  static at(place, step) {
    try {
      return step();
    } catch (error) {
      throw error instanceof Refusal ? new Refusal(error.code, place, error.detail, error.verdict) : error;
    }
  }
}
