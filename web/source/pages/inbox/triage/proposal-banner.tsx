import { IxButton } from '@siemens/ix-react'
import { useState } from 'react'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { usePermission } from '../../../app/session/app-context.tsx'
import { ConfirmDialog } from '../../../components/dialogs/confirm-dialog.tsx'
import { inboxMessages } from '../messages.ts'
import { targetLine, targetText } from './inbox-columns.tsx'
import type { CountedProposals } from './proposals.ts'

type ProposalBannerProps = {
  counted: CountedProposals | undefined
  /** The rule whose assets the list shows. */
  shownRule: string | undefined
  onShow: (ruleId: string | undefined) => void
  onAccept: (ruleId: string) => Promise<unknown>
}

/**
 * `ProposalBanner` shows what an onboarding rule proposes, in one line. The user shows the assets of the rule, and accepts all its
 * proposals at once. A button shows the other rules.
 */
export function ProposalBanner({ counted, shownRule, onShow, onAccept }: ProposalBannerProps) {
  const text = useText(inboxMessages)
  const formats = useFormats()
  const canWrite = usePermission('inventory_write_asset_data')
  const [ruleId, setRuleId] = useState<string>()
  const [isOpen, setOpen] = useState(false)
  const rules = (counted?.rules ?? []).filter(({ assets }) => assets > 0)
  const chosen = rules.find((rule) => rule.ruleId === ruleId)
  const first = rules.find((rule) => rule.ruleId === shownRule) ?? rules[0]
  if (first === undefined) return null
  const shown = isOpen ? rules : [first]
  return (
    <>
      <ul className="proposal-banner" aria-label={text.proposals}>
        {shown.map((rule) => (
          <li key={rule.ruleId}>
            <span>
              {text.ruleProposes(rule.ruleName, rule.assets, formats.number(rule.assets))}{' '}
              <strong title={targetText(rule, text)}>{targetLine(rule, text)}</strong>
            </span>
            {rule === first && rules.length > 1 && (
              <button type="button" className="link-button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
                {isOpen ? text.fewerRules : text.moreRules(rules.length - 1)}
              </button>
            )}
            <button
              type="button"
              className="link-button"
              onClick={() => onShow(rule.ruleId === shownRule ? undefined : rule.ruleId)}
            >
              {rule.ruleId === shownRule ? text.showAllNew : text.showProposed}
            </button>
            {canWrite && (
              <IxButton variant="secondary" onClick={() => setRuleId(rule.ruleId)}>
                {text.accept(formats.number(rule.assets))}
              </IxButton>
            )}
          </li>
        ))}
        {counted?.isComplete === false && <li className="quiet">{text.proposalsIncomplete}</li>}
      </ul>
      {chosen !== undefined && (
        <ConfirmDialog
          title={text.onboardTitle(chosen.assets, formats.number(chosen.assets))}
          action={text.onboard}
          onConfirm={() => onAccept(chosen.ruleId)}
          onClose={() => setRuleId(undefined)}
        >
          <p>{text.acceptText(chosen.ruleName, targetText(chosen, text))}</p>
        </ConfirmDialog>
      )}
    </>
  )
}
