/** The fields of a device that describe which versions are installed one after the other. */
type VersionSteps = { fromVersion?: string; steps: readonly { version: string }[] }

/** Returns the versions from the installed version to the last step, such as `2.6 → 2.8 → 3.0`. */
export function stepsText({ fromVersion, steps }: VersionSteps, unknown: string): string {
  return [fromVersion ?? unknown, ...steps.map(({ version }) => version)].join(' → ')
}
