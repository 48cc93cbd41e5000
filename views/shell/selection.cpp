#include "views/shell/selection.h"
