export type BenchOptions = {
  /** The folder for CPU profiles of the measured process. */
  profile: string | undefined
  /** The size of the plant, and the number of relations per asset. */
  assets: number
  relations: number
  /** The number of tenants that have such a plant. */
  tenants: number
  /** The URL of a further database to measure, as its owner. */
  database: string | undefined
  /** Whether to print the plans of the measured statements. */
  plans: boolean
  /** The folder where the plant stays between runs. Without this folder, the plant is deleted after the run. */
  home: string | undefined
  /** The duration of benchmarks that observe the platform for some time. */
  minutes: number
  /** Selects the workloads whose name contains this text. */
  only: string
}
