import { type Artefact, type Campaign, type CampaignTargets, updateLimits } from '@millwright/api/updates.ts'
import { IxButton } from '@siemens/ix-react'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import type { Api } from '../../../app/api/client.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { useSearchState } from '../../../app/navigation/search-state.ts'
import { useApi } from '../../../app/session/app-context.tsx'
import { Loading } from '../../../components/feedback/loading.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { PageHeader } from '../../../components/page/page-header.tsx'
import { usePageTitle } from '../../../components/page/page-title.ts'
import { ParentLink } from '../../../components/page/parent-link.tsx'
import { productsFilter } from '../product-filter.ts'
import { useArtefact, useCampaign, useRefreshUpdates } from '../update-data.ts'
import { ArtefactStep } from './artefact-step.tsx'
import {
  emptyTargets,
  newRollout,
  type RolloutForm,
  rolloutOf,
  rolloutOfCampaign,
  type TargetForm,
  targetsOf,
  targetsOfCampaign,
} from './campaign-form.ts'
import { wizardMessages } from './messages.ts'
import { RolloutStep } from './rollout-step.tsx'
import { selectedAssets } from './selected-assets.ts'
import { TargetStep } from './target-step.tsx'
import { WizardSteps } from './wizard-steps.tsx'
import '../../assets/assets.css'
import '../updates.css'

type WizardSearch = 'artefact' | 'asset' | 'assets' | 'filter' | 'node'

/** `WizardPage` creates a campaign in steps, or edits a draft. The last step is the plan on the page of the draft. */
export function WizardPage() {
  const text = useText(wizardMessages)
  const { id } = useParams({ strict: false }) as { id?: string }
  const [search] = useSearchState<WizardSearch>()
  const title = id === undefined ? text.title : text.editTitle
  usePageTitle(title)
  const draft = useCampaign(id)
  const artefactId = id === undefined ? search.artefact : draft.data?.data.artefactId
  const artefact = useArtefact(artefactId)
  const isLoaded = (id === undefined || draft.data !== undefined) && (artefactId === undefined || !artefact.isPending)
  return (
    <>
      <PageHeader title={title} above={<ParentLink to="/updates">{text.campaigns}</ParentLink>} />
      {id !== undefined && draft.data === undefined ? (
        <QueryState query={draft}>{() => null}</QueryState>
      ) : isLoaded ? (
        <Wizard
          draft={draft.data?.data}
          initialArtefact={artefact.data?.data}
          initialTargets={draft.data === undefined ? targetsOfSearch(search) : targetsOfCampaign(draft.data.data)}
        />
      ) : (
        <Loading />
      )}
    </>
  )
}

/** Returns the targets that the URL names, or the assets that the user selected in a table. */
function targetsOfSearch(search: Partial<Record<WizardSearch, string>>): TargetForm {
  if (search.filter !== undefined) return { ...emptyTargets, kind: 'filter', filter: search.filter }
  if (search.node !== undefined) return { ...emptyTargets, kind: 'node', nodeId: search.node }
  if (search.asset !== undefined) return { ...emptyTargets, kind: 'assets', assets: [{ id: search.asset }] }
  if (search.assets === undefined) return emptyTargets
  return { ...emptyTargets, kind: 'assets', assets: selectedAssets().map((id) => ({ id })) }
}

type WizardProps = {
  draft: Campaign | undefined
  initialArtefact: Artefact | undefined
  initialTargets: TargetForm
}

function Wizard({ draft, initialArtefact, initialTargets }: WizardProps) {
  const text = useText(wizardMessages)
  const [step, setStep] = useState<'artefact' | 'targets' | 'rollout'>(
    initialArtefact === undefined ? 'artefact' : 'targets',
  )
  const [artefact, setArtefact] = useState(initialArtefact)
  const [targets, setTargets] = useState(initialTargets)
  const [rollout, setRollout] = useState<RolloutForm>(() => firstRollout(draft, initialTargets))
  const [isSubmitted, setSubmitted] = useState(false)
  const { save, failure, isBusy } = useDraft(draft)
  const body = useRef<HTMLDivElement>(null)
  const shownStep = useRef(step)
  useEffect(() => {
    // After a change of the step, the focus moves to the new step, so that screen readers announce it.
    if (shownStep.current !== step) body.current?.focus()
    shownStep.current = step
  }, [step])
  const go = (next: typeof step) => {
    setSubmitted(false)
    setStep(next)
  }
  const checked = rolloutOf(rollout)
  const invalid = 'invalid' in checked ? checked.invalid : undefined
  const hasTargets = targets.kind === 'node' ? targets.nodeId !== undefined : targetsOf(targets, 'any') !== undefined
  const next = async () => {
    setSubmitted(true)
    if (step === 'artefact' && artefact !== undefined) {
      const name = rollout.name === '' ? text.defaultName(`${artefact.name} ${artefact.version}`) : rollout.name
      setRollout({ ...rollout, name: name.slice(0, 128) })
      go('targets')
    }
    if (step === 'targets' && hasTargets) {
      if (artefact !== undefined && rollout.name === '') {
        setRollout({ ...rollout, name: text.defaultName(`${artefact.name} ${artefact.version}`).slice(0, 128) })
      }
      go('rollout')
    }
    if (step === 'rollout' && artefact !== undefined && !('invalid' in checked)) {
      await save({ artefact, targets, rollout: checked })
    }
  }
  return (
    <div className="wizard">
      <WizardSteps current={step} />
      <div className="wizard" ref={body} tabIndex={-1}>
        {step === 'artefact' && (
          <ArtefactStep artefact={artefact} onChoose={setArtefact} isMissing={isSubmitted && artefact === undefined} />
        )}
        {step === 'targets' && artefact !== undefined && (
          <>
            {draft !== undefined && <p className="quiet">{text.artefactFixed}</p>}
            <TargetStep
              artefact={artefact}
              form={targets}
              onChange={setTargets}
              isMissing={isSubmitted && !hasTargets}
            />
          </>
        )}
        {step === 'rollout' && (
          <RolloutStep
            form={rollout}
            onChange={setRollout}
            isSubmitted={isSubmitted}
            invalid={isSubmitted ? invalid : undefined}
          />
        )}
        {failure !== undefined && <ProblemMessage failure={failure} />}
      </div>
      <div className="form-actions">
        {step === 'rollout' && (
          <IxButton variant="secondary" onClick={() => go('targets')}>
            {text.back}
          </IxButton>
        )}
        {step === 'targets' && draft === undefined && (
          <IxButton variant="secondary" onClick={() => go('artefact')}>
            {text.back}
          </IxButton>
        )}
        <IxButton key={step} loading={isBusy} onClick={next}>
          {step === 'rollout' ? text.toPlan : text.next}
        </IxButton>
      </div>
    </div>
  )
}

/** Returns the conditions of a draft, or of a new campaign. A campaign for one asset needs no waves. */
function firstRollout(draft: Campaign | undefined, { kind, assets }: TargetForm): RolloutForm {
  if (draft !== undefined) return rolloutOfCampaign(draft)
  return kind === 'assets' && assets.length === 1 ? { ...newRollout(), waves: [] } : newRollout()
}

type Rollout = Exclude<ReturnType<typeof rolloutOf>, { invalid: unknown }>
type DraftInput = { artefact: Artefact; targets: TargetForm; rollout: Rollout }

/** Returns a function that creates or changes the draft and opens its plan, and the failure of the last attempt. */
function useDraft(draft: Campaign | undefined) {
  const text = useText(wizardMessages)
  const api = useApi()
  const navigate = useNavigate()
  const refresh = useRefreshUpdates()
  const [failure, setFailure] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const send = async ({ artefact, targets: form, rollout: { window, ...rollout } }: DraftInput) => {
    const targets = await resolvedTargets(api, form, productsFilter(artefact.products))
    if (draft !== undefined) {
      const data = { ...rollout, targets, window: window ?? null }
      return (await api.updates.updateCampaign({ params: { id: draft.id }, body: { data } })).data
    }
    const data = { ...rollout, targets, artefactId: artefact.id, ...(window && { window }) }
    return (await api.updates.createCampaign({ body: { data } })).data
  }
  const save = async (input: DraftInput) => {
    setBusy(true)
    setFailure(undefined)
    try {
      const { id } = await send(input)
      await refresh()
      showSuccess(draft === undefined ? text.created : text.saved)
      await navigate({ to: `/updates/campaigns/${id}` })
    } catch (error) {
      setFailure(error)
    } finally {
      setBusy(false)
    }
  }
  return { save, failure, isBusy }
}

/** Returns the targets for the API. The assets of a node are loaded, because a campaign has no targets by node. */
async function resolvedTargets(api: Api, form: TargetForm, ofProducts: string): Promise<CampaignTargets> {
  const targets = targetsOf(form, ofProducts)
  if (targets !== undefined) return targets
  const assetIds: string[] = []
  let cursor: string | undefined
  do {
    const { data, meta } = await api.inventory.listAssets({
      query: {
        limit: 100,
        count: false,
        fields: 'id',
        includeBelow: true,
        ...(form.nodeId !== undefined && { hierarchyNode: form.nodeId }),
        ...(cursor !== undefined && { cursor }),
      },
    })
    for (const { id } of data as { id: string }[]) assetIds.push(id)
    cursor = meta.nextCursor
  } while (cursor !== undefined && assetIds.length <= updateLimits.targets)
  return { assetIds }
}
