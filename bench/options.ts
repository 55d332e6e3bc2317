export type BenchOptions = {
  /** Where to write CPU profiles of the process under test. */
  profile: string | undefined
  /** How large the plant is, and how many relations each of its assets has. */
  assets: number
  relations: number
  /** Whether to print the plans of the statements that are measured. */
  plans: boolean
  /** Where the plant is kept between runs; without it, it is gone afterwards. */
  home: string | undefined
  /** Only workloads whose name has this in it. */
  only: string
}
