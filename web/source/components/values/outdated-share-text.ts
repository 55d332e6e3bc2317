import { messages } from '../../app/language/language.ts'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { exceptionalPercentage } from './outdated-share.ts'

const shareMessages = messages({
  en: { outdatedFrom: (percent: string, average: string) => `${percent} or more outdated (average: ${average})` },
  de: { outdatedFrom: (percent: string, average: string) => `Ab ${percent} veraltet (Durchschnitt: ${average})` },
})

/** Returns a function that explains which share of outdated assets is an exception, for legends. */
export function useOutdatedShareText(): (average: number) => string {
  const text = useText(shareMessages)
  const formats = useFormats()
  return (average) => text.outdatedFrom(formats.percent(exceptionalPercentage(average) / 100), formats.percent(average))
}
