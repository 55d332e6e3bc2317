import type { AssetLink } from '@millwright/api/discovery.ts'

/** The value of the search parameter `edit` that opens the settings of a scan. */
export const editSettings = 'settings'

/** The value of the search parameter `edit` that opens the schedule of a scan. */
export const editSchedule = 'schedule'

/** Returns whether the asset link of a scan is registered and has settings. */
export function isScanEditable(link: AssetLink | undefined): boolean {
  return link !== undefined && link.filters.length + link.options.length > 0
}
