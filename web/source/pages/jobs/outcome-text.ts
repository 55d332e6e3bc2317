import { useText } from '../../app/language/language-context.tsx'
import type { OutcomeText } from './job-result.ts'
import { jobMessages } from './messages.ts'
import { jobAdvices, jobErrorAdvices, jobResults } from './outcome-messages.ts'

/** Returns the texts with which the outcome of a job is described, in the language of the user. */
export function useOutcomeText(): OutcomeText {
  return {
    text: useText(jobMessages),
    results: useText(jobResults),
    advices: useText(jobAdvices),
    errorAdvices: useText(jobErrorAdvices),
  }
}
