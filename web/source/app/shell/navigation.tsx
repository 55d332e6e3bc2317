import { iconBookmark } from '@siemens/ix-icons/icons'
import { IxMenu, IxMenuItem } from '@siemens/ix-react'
import { useNavigate, useRouterState } from '@tanstack/react-router'
import { Fragment, type MouseEvent } from 'react'
import { type SavedView, savedViewsOf } from '../../pages/assets/views/saved-views.ts'
import { useLanguage, useText } from '../language/language-context.tsx'
import { type Area, navigationGroups } from '../navigation/area.ts'
import { areas } from '../navigation/areas.ts'
import { basePath } from '../navigation/base-path.ts'
import { usePreference } from '../preferences/preference.ts'
import { useAppContext } from '../session/app-context.tsx'
import { appMessages } from './messages.ts'

/** `Navigation` contains the areas that the user can open, in groups, and the saved views of the asset table. */
export function Navigation() {
  const text = useText(appMessages)
  const { rights } = useAppContext()
  const offered = areas.filter(({ permissions }) => permissions.length === 0 || rights.hasAny(permissions))
  return (
    <IxMenu
      startExpanded
      i18nAriaLabelMenu={text.navigation}
      i18nNavigationHint={text.navigationHint}
      i18nExpand={text.expand}
      i18nCollapse={text.collapse}
    >
      {navigationGroups.map((group) => {
        const members = offered.filter((area) => area.group === group)
        if (members.length === 0) return null
        return (
          <Fragment key={group}>
            {group !== 'overview' && (
              <div className="navigation-heading">
                <span>{text[`group_${group}`]}</span>
              </div>
            )}
            {members.map((area) => (
              <Fragment key={area.id}>
                <NavigationItem area={area} />
                {area.id === 'assets' && <SavedViews />}
              </Fragment>
            ))}
          </Fragment>
        )
      })}
    </IxMenu>
  )
}

function NavigationItem({ area }: { area: Area }) {
  const language = useLanguage()
  const navigate = useNavigate()
  const here = useRouterState({ select: ({ location }) => location.pathname })
  const isActive = area.path === '/' ? here === '/' : here === area.path || here.startsWith(`${area.path}/`)
  return (
    <IxMenuItem
      icon={area.icon}
      label={area.title[language]}
      active={isActive}
      href={`${basePath}${area.path}`}
      onClick={(event) => {
        if (opensWindow(event)) return
        event.preventDefault()
        navigate({ to: area.path })
      }}
    />
  )
}

/** `SavedViews` lists the saved views of the asset table below the entry of the assets. */
function SavedViews() {
  const [stored] = usePreference<unknown>('assets.views', [])
  return savedViewsOf(stored).map((view) => <SavedViewItem key={view.id} view={view} />)
}

function SavedViewItem({ view: { name, search } }: { view: SavedView }) {
  const navigate = useNavigate()
  const query = new URLSearchParams(search as Record<string, string>)
  const isActive = useRouterState({
    select: ({ location }) => location.pathname === '/assets' && isSameSearch(location.search, search),
  })
  return (
    <IxMenuItem
      className="navigation-view"
      icon={iconBookmark}
      label={name}
      active={isActive}
      href={`${basePath}/assets?${query}`}
      onClick={(event) => {
        if (opensWindow(event)) return
        event.preventDefault()
        navigate({ to: '/assets', search: search as never })
      }}
    />
  )
}

function isSameSearch(here: Readonly<Record<string, unknown>>, search: Readonly<Record<string, string>>): boolean {
  const names = new Set([...Object.keys(here), ...Object.keys(search)])
  return [...names].every((name) => String(here[name] ?? '') === (search[name] ?? ''))
}

/** Returns true for a click that opens a new window or tab. */
function opensWindow({ ctrlKey, metaKey, shiftKey, button }: MouseEvent): boolean {
  return ctrlKey || metaKey || shiftKey || button !== 0
}
