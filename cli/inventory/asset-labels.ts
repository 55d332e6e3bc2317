/** The labels of API values in tables. The console uses the same labels. JSON output contains the API values. */
const labels: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'management_state.state_value': { regarded: 'Onboarded', ignored: 'Ignored', unknown: 'New' },
  functional_object_type: { SoftwareArtifact: 'Software' },
}

/** Returns the label of a property's value, or the value if it has no label. */
export function labelOf(property: string, value: unknown): unknown {
  return labels[property.replaceAll('/', '.')]?.[String(value)] ?? value
}
